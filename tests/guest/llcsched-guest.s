/*
 * A guest for tests: every vCPU runs a simple load and counts what it did
 *
 * This is the whole firmware (`-bios`): 64 KiB, no operating system, up some
 * milliseconds after QEMU.  README.md says how to talk to it.
 *
 * It stays in flat 32-bit protected mode, without paging, and returns from
 * interrupts without IRET: a KVM that itself runs in a virtual machine may
 * emulate such code by the kernel's instruction emulator, which knows IRET in
 * real mode only.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

/* The image is mapped here, and again below 4 GiB. */
        .equ    ROM_BASE, 0xf0000
        .equ    ROM_SIZE, 0x10000
        .equ    SIPI_VECTOR, ROM_BASE >> 12

/* Memory map, all below 512 KiB but RELAYS */
        .equ    IDT, 0x1000             /* 256 gates */
        .equ    VARS, 0x2000
        .equ    BOOT_SLOT, VARS + 0x00  /* slot of the boot CPU */
        .equ    MODE, VARS + 0x04       /* index into the table of modes */
        .equ    COUNTDOWN, VARS + 0x08  /* ticks until the next report */
        .equ    EXPECTED, VARS + 0x0c   /* vCPUs that QEMU says are there */
        .equ    HOTPLUG, VARS + 0x10    /* port of the CPU hot-plug registers */
        .equ    JOB_ROUNDS, VARS + 0x14 /* of "burst"; written from outside */
        .equ    IDTR, VARS + 0x18
        .equ    STEAL_WANTED, VARS + 0x20 /* 0: no steal clocks */
        .equ    STEAL_LOW, VARS + 0x24  /* for the register of all; 0: each */
        .equ    STEAL_HIGH, VARS + 0x28 /* vCPU has a record of its own */
        .equ    BUFFER, VARS + 0x40     /* one fw_cfg directory entry */
        .equ    SLOTS, 0x10000          /* one for each APIC id */
        .equ    STACKS, 0x20000
        .equ    STACK_SHIFT, 9
        .equ    STACK_BYTES, 1 << STACK_SHIFT
        .equ    MAX_IDS, 255            /* xAPIC: id 255 is the broadcast */
        .equ    RAM_END, STACKS + (MAX_IDS << STACK_SHIFT)
        .equ    HISTOGRAMS, 0x40000     /* one for each APIC id, see note_gap */
        .equ    HISTOGRAM_SHIFT, 9
        .equ    STEALS, 0x60000         /* one record for each APIC id */
        .equ    STEAL_SHIFT, 6
        .equ    RELAYS, 0x100000        /* a ring of words for each APIC id */
        .equ    RELAY_SHIFT, 16
        .equ    RELAY_MASK, (1 << RELAY_SHIFT) / 4 - 1

/* A slot: what one vCPU counts and knows. A cache line, so that counting is
 * not sharing. */
        .equ    SLOT_SHIFT, 6
        .equ    SLOT_BYTES, 1 << SLOT_SHIFT
        .equ    S_COUNT, 0              /* work done, modulo 2^32 */
        .equ    S_PRESENT, 4            /* 1 once it has started */
        .equ    S_TICKS, 8              /* timer interrupts taken */
        .equ    S_ID, 12                /* APIC id */
        .equ    S_WORD, 16              /* the pair's word, in its first slot */
        .equ    S_CELL, 20              /* address of that word; 0: no pair */
        .equ    S_PARITY, 24            /* its turn: word & 1 == S_PARITY */
        .equ    S_PARTNER, 28           /* APIC id of the other */
        .equ    S_LOOKS, 32             /* of "meet": looks that count */
        .equ    S_MEETS, 36             /* and those in which both ran */
        .equ    S_RELAYS, 40            /* of "relay": words noted */
        .equ    S_TSC, 48               /* 64 bits: the TSC when last noted */
        .equ    S_GAP, 56               /* the most between two of these */
        .equ    S_JOB, 60               /* S_TICKS when it last began a job */

/* Local APIC. Its timer counts nanoseconds in QEMU and in KVM. */
        .equ    APIC, 0xfee00000
        .equ    APIC_ID, APIC + 0x20
        .equ    APIC_EOI, APIC + 0xb0
        .equ    APIC_SVR, APIC + 0xf0
        .equ    APIC_ICR, APIC + 0x300
        .equ    APIC_ICR_HIGH, APIC + 0x310
        .equ    APIC_LVT_TIMER, APIC + 0x320
        .equ    APIC_LVT_LINT0, APIC + 0x350
        .equ    APIC_TIMER_INITIAL, APIC + 0x380
        .equ    APIC_TIMER_DIVIDE, APIC + 0x3e0
        .equ    ICR_OTHERS, 0xc0000     /* all but the sender */
        .equ    ICR_INIT, 0x4500
        .equ    ICR_SIPI, 0x4600 | SIPI_VECTOR
        .equ    ICR_FIXED, 0x4000
        .equ    LVT_MASKED, 0x10000
        .equ    DIVIDE_BY_128, 0xa
        .equ    TICKS_PER_SECOND, 50
        .equ    TIMER_COUNT, 1000000000 / 128 / TICKS_PER_SECOND

        .equ    VECTOR_TICK, 0x20
        .equ    VECTOR_WAKE, 0x21
        .equ    VECTOR_SPURIOUS, 0xff

        .equ    COM1, 0x3f8
        .equ    COM1_LSR, COM1 + 5
        .equ    LSR_DATA_READY, 0x01
        .equ    LSR_CAN_SEND, 0x20

        .equ    FW_CFG_SELECT, 0x510
        .equ    FW_CFG_DATA, 0x511
        .equ    FW_CFG_NB_CPUS, 0x05
        .equ    FW_CFG_DIRECTORY, 0x19
        .equ    ENTRY_BYTES, 64         /* size, key (big-endian), name */
        .equ    E_SIZE, 0
        .equ    E_KEY, 4
        .equ    E_NAME, 8
        .equ    FILE_BYTES, 16          /* of a file that are read */

/* KVM's steal clock, Documentation/virt/kvm/x86/msr.rst in Linux */
        .equ    CPUID_KVM, 0x40000000
        .equ    CPUID_KVM_FEATURES, 0x40000001
        .equ    KVM_SIGNATURE, 0x4b4d564b /* "KVMK" */
        .equ    KVM_STEAL_TIME, 1 << 5
        .equ    MSR_STEAL_TIME, 0x4b564d03
        .equ    STEAL_NS, 0
        .equ    STEAL_VERSION, 8        /* odd while it is written */

/* CPU hot-plug registers, docs/specs/acpi_cpu_hotplug.rst in QEMU */
        .equ    HP_SELECT, 0
        .equ    HP_STATUS, 4
        .equ    HP_COMMAND, 5
        .equ    HP_DATA, 8
        .equ    HP_INSERTED, 2
        .equ    HP_REMOVING, 4
        .equ    HP_EJECT, 8
        .equ    HP_CMD_NEXT_EVENT, 0
        .equ    HP_CMD_APIC_ID, 3
        .equ    HP_PORT_PC, 0xaf00
        .equ    HP_PORT_Q35, 0x0cd8

        .equ    DEBUG_EXIT, 0xf4
        .equ    PCI_ADDRESS, 0xcf8
        .equ    PCI_DATA, 0xcfc
        .equ    PM_BASE, 0x600
        .equ    GED_SLEEP, 0xfea00200   /* microvm's sleep register */
        .equ    GED_SLEEP_S5, 0x34

/* Modes: indexes into the table at the end */
        .equ    MODE_SPIN, 0
        .equ    MODE_HALT, 1
        .equ    MODE_HOP, 2
        .equ    MODE_IPI, 3
        .equ    MODE_HALF, 4
        .equ    MODE_ONE, 5
        .equ    MODE_GAP, 6
        .equ    MODE_LAG, 7
        .equ    MODE_BURST, 8
        .equ    MODE_MEET, 9
        .equ    MODE_NAP, 10
        .equ    MODE_PULSE, 11
        .equ    MODE_RELAY, 12
        .equ    N_MODES, 13
        .equ    MEET_TSC, 400000        /* a look counts if it took less */
        .equ    MEET_LOOPS, 20
        .equ    JOB_TICKS, 5            /* from one job to the next */

        .section .text
        .globl  _start
_start:

/*
 * Into protected mode. A start-up IPI enters at the first byte of the image,
 * a reset through the jump at its end.
 */
        .code16
start_ap16:
        cli
        lgdtl   %cs:(gdtr - _start)
        mov     %cr0, %eax
        or      $1, %al
        mov     %eax, %cr0
        ljmpl   $8, $start_ap
start_boot16:
        cli
        lgdtl   %cs:(gdtr - _start)
        mov     %cr0, %eax
        or      $1, %al
        mov     %eax, %cr0
        ljmpl   $8, $start_boot

        .balign 8
gdt:    .quad   0
        .quad   0x00cf9b000000ffff      /* code, 4 GiB */
        .quad   0x00cf93000000ffff      /* data, 4 GiB */
gdtr:   .word   gdtr - gdt - 1
        .long   gdt

        .code32
/* Flat segments; %ebx = the slot of this vCPU; its stack. */
        .macro  enter_flat
        cld
        mov     $16, %ax
        mov     %ax, %ds
        mov     %ax, %es
        mov     %ax, %ss
        mov     APIC_ID, %ebx
        shr     $24, %ebx
        lea     1(%ebx), %esp
        shl     $STACK_SHIFT, %esp
        add     $STACKS, %esp
        shl     $SLOT_SHIFT, %ebx
        add     $SLOTS, %ebx
        .endm

start_ap:
        enter_flat
        call    init_cpu
        jmp     work

start_boot:
        enter_flat
        /* a reset keeps the memory: forget the last life */
        xor     %eax, %eax
        mov     $IDT, %edi
        mov     $(RAM_END - IDT) / 4, %ecx
        rep     stosl
        mov     %ebx, BOOT_SLOT
        movl    $1, COUNTDOWN
        call    build_idt
        call    find_hotplug_port
        call    read_mode
        call    read_steal
        call    init_cpu
        mov     $text_starting, %esi
        call    print_text
        call    read_expected
        call    print_number
        mov     $text_vcpus, %esi
        call    print_text
        movl    $ICR_OTHERS | ICR_INIT, APIC_ICR
1:      movl    $ICR_OTHERS | ICR_SIPI, APIC_ICR
        call    wait_for_others
        jne     1b
        call    report_up
        movl    $TIMER_COUNT, APIC_TIMER_INITIAL
        jmp     work

/* Interrupts of this vCPU, and its presence. In: %ebx. */
init_cpu:
        lidt    IDTR
        movl    $0x100 | VECTOR_SPURIOUS, APIC_SVR
        movl    $LVT_MASKED, APIC_LVT_LINT0
        movl    $DIVIDE_BY_128, APIC_TIMER_DIVIDE
        movl    $VECTOR_TICK, APIC_LVT_TIMER    /* one shot: see irq_tick */
        mov     APIC_ID, %eax
        shr     $24, %eax
        mov     %eax, S_ID(%ebx)
        call    enable_steal
        movl    $1, S_PRESENT(%ebx)
        ret

/* Where the hypervisor has steal clocks and the fw_cfg file asks for them. In:
 * %ebx. */
enable_steal:
        push    %ebx
        cmpl    $0, STEAL_WANTED
        je      2f
        mov     $CPUID_KVM, %eax
        cpuid
        cmp     $KVM_SIGNATURE, %ebx
        jne     2f
        mov     $CPUID_KVM_FEATURES, %eax
        cpuid
        test    $KVM_STEAL_TIME, %eax
        jz      2f
        mov     (%esp), %esi
        call    find_record
        mov     %edi, %ebx
        xor     %eax, %eax
        mov     $(1 << STEAL_SHIFT) / 4, %ecx
        rep     stosl
        mov     STEAL_LOW, %eax
        mov     STEAL_HIGH, %edx
        mov     %eax, %ecx
        or      %edx, %ecx
        jnz     1f
        lea     1(%ebx), %eax           /* enabled */
1:      mov     $MSR_STEAL_TIME, %ecx
        wrmsr
2:      pop     %ebx
        ret

/* In: %esi = slot. Out: %edi = its steal record. */
find_record:
        mov     S_ID(%esi), %edi
        shl     $STEAL_SHIFT, %edi
        add     $STEALS, %edi
        ret

build_idt:
        mov     $VECTOR_TICK, %edi
        mov     $irq_tick, %eax
        call    set_gate
        mov     $VECTOR_WAKE, %edi
        mov     $irq_wake, %eax
        call    set_gate
        mov     $VECTOR_SPURIOUS, %edi
        mov     $irq_return, %eax
        call    set_gate
        movw    $256 * 8 - 1, IDTR
        movl    $IDT, IDTR + 2
        ret

/* In: %edi = vector, %eax = handler. */
set_gate:
        mov     %eax, %edx
        and     $0xffff, %edx
        or      $8 << 16, %edx
        mov     %edx, IDT(, %edi, 8)
        and     $0xffff0000, %eax
        or      $0x8e00, %eax
        mov     %eax, IDT + 4(, %edi, 8)
        ret

/*
 * What the vCPUs do. Each loop counts in S_COUNT and comes back here when
 * the mode changes. In: %ebx = slot.
 */
work:
        sti
        mov     MODE, %eax
        jmp     *work_table(, %eax, 4)

work_spin:
        incl    S_COUNT(%ebx)
        cmpl    $MODE_SPIN, MODE
        je      work_spin
        jmp     work

/* A change of mode between test and HLT is not lost: STI lets no interrupt
 * in before the next instruction is done. */
work_halt:
        incl    S_COUNT(%ebx)
        cli
        cmpl    $MODE_HALT, MODE
        jne     work
        sti
        hlt
        jmp     work_halt

/* One word to and fro between two vCPUs, both spinning. Out: %esi = its
 * address, when it is this one's turn. */
        .macro  await_turn mode
        mov     S_CELL(%ebx), %esi
        mov     S_PARITY(%ebx), %edx
        test    %esi, %esi
        jz      alone
1:      mov     (%esi), %eax
        xor     %edx, %eax
        test    $1, %al
        jz      2f
        pause
        cmpl    $\mode, MODE
        je      1b
        jmp     work
2:
        .endm

work_hop:
        await_turn MODE_HOP
        incl    (%esi)
        incl    S_COUNT(%ebx)
        jmp     work

/* The same, noting the time from turn to turn. */
work_lag:
        await_turn MODE_LAG
        rdtsc
        call    note_gap
        incl    (%esi)
        incl    S_COUNT(%ebx)
        jmp     work

/* The boot CPU spins, the others halt. */
work_one:
        cmp     BOOT_SLOT, %ebx
        jne     alone
1:      incl    S_COUNT(%ebx)
        cmpl    $MODE_ONE, MODE
        je      1b
        jmp     work

/* Looks at the clock all the time: a gap is time that it did not run. */
work_gap:
        rdtsc
        call    note_gap
        incl    S_COUNT(%ebx)
        cmpl    $MODE_GAP, MODE
        je      work_gap
        jmp     work

/* Looks whether its partner's counter moves while it looks itself. */
work_meet:
        cmpl    $0, S_CELL(%ebx)
        je      alone
        call    look
        jmp     work

/* Count, and look once at the partner, which may be another than last time. A
 * look that took longer says nothing: this vCPU may have been out of the guest.
 * In: %ebx. */
look:   mov     S_PARTNER(%ebx), %esi
        shl     $SLOT_SHIFT, %esi
        add     $SLOTS, %esi
        incl    S_COUNT(%ebx)
        rdtsc
        mov     %eax, %ebp
        mov     S_COUNT(%esi), %edi
        mov     $MEET_LOOPS, %ecx
1:      pause
        loop    1b
        sub     S_COUNT(%esi), %edi
        rdtsc
        sub     %ebp, %eax
        cmp     $MEET_TSC, %eax
        ja      2f
        incl    S_LOOKS(%ebx)
        test    %edi, %edi
        jns     2f                      /* cleared, if the partner is removed */
        incl    S_MEETS(%ebx)
2:      ret

/* A job of JOB_ROUNDS at each fifth tick of the boot CPU, noting how long it
 * took. The others halt. */
work_burst:
        cmp     BOOT_SLOT, %ebx
        jne     alone
        cli
        cmpl    $MODE_BURST, MODE
        jne     work
        mov     S_TICKS(%ebx), %eax
        mov     %eax, %esi
        xor     %edx, %edx
        mov     $JOB_TICKS, %ecx
        div     %ecx
        test    %edx, %edx
        jnz     1f
        cmp     S_JOB(%ebx), %esi
        jne     2f
1:      sti
        hlt
        jmp     work_burst
2:      sti
        call    do_job
        jmp     work_burst

/* In: %ebx, and %esi = its ticks now. */
do_job: mov     %esi, S_JOB(%ebx)
        rdtsc
        mov     %eax, S_TSC(%ebx)
        mov     %edx, S_TSC + 4(%ebx)
        mov     JOB_ROUNDS, %ecx
        or      $1, %ecx
1:      dec     %ecx
        jnz     1b
        rdtsc
        call    note_gap
        incl    S_COUNT(%ebx)
        ret

/* Such a job at each tick of its own timer, of which the first comes later the
 * higher the APIC id is. The boot CPU's timer has other work: it halts. */
work_pulse:
        cmp     BOOT_SLOT, %ebx
        je      alone
        mov     S_ID(%ebx), %eax
        and     $63, %eax
        inc     %eax
        imul    $TIMER_COUNT * JOB_TICKS / 64, %eax
        mov     %eax, APIC_TIMER_INITIAL
1:      cli
        cmpl    $MODE_PULSE, MODE
        jne     stop_timer
        mov     S_TICKS(%ebx), %esi
        cmp     S_JOB(%ebx), %esi
        jne     2f
        sti
        hlt
        jmp     1b
2:      sti
        movl    $TIMER_COUNT * JOB_TICKS, APIC_TIMER_INITIAL
        call    do_job
        jmp     1b

/* Of two that never run together: notes how long none of them ran when its
 * turn has come, that is since its partner noted the TSC last. */
work_relay:
        mov     S_PARTNER(%ebx), %esi
        cmpl    $0, S_CELL(%ebx)
        je      alone
        shl     $SLOT_SHIFT, %esi
        add     $SLOTS, %esi
1:      mov     S_TSC(%ebx), %ebp
        rdtsc
        mov     %eax, S_TSC(%ebx)
        incl    S_COUNT(%ebx)
        mov     S_TSC(%esi), %edi
        sub     %edi, %ebp
        jns     2f                      /* its last turn was before mine */
        sub     %edi, %eax
        js      2f                      /* it came since I read the TSC */
        mov     S_ID(%ebx), %ecx
        shl     $RELAY_SHIFT, %ecx
        mov     S_RELAYS(%ebx), %edx
        and     $RELAY_MASK, %edx
        mov     %eax, RELAYS(%ecx, %edx, 4)
        incl    S_RELAYS(%ebx)
2:      cmpl    $MODE_RELAY, MODE
        je      1b
        jmp     work

/*
 * Note the time since the last note: the most of all, and a histogram of
 * doublewords. Below 4 each value has one, from there each power of two has
 * four. In: %edx:%eax = the TSC. Keeps %ebx, %esi.
 */
note_gap:
        mov     %eax, %ecx
        mov     %edx, %edi
        sub     S_TSC(%ebx), %eax
        sbb     S_TSC + 4(%ebx), %edx
        mov     %ecx, S_TSC(%ebx)
        mov     %edi, S_TSC + 4(%ebx)
        jz      1f                      /* MOV keeps the flags of SBB */
        mov     $-1, %eax
1:      cmp     S_GAP(%ebx), %eax
        jbe     2f
        mov     %eax, S_GAP(%ebx)
2:      cmp     $4, %eax
        jb      3f
        bsr     %eax, %edx
        lea     -2(%edx), %ecx
        shr     %cl, %eax
        and     $3, %eax
        lea     -4(%eax, %edx, 4), %eax
3:      mov     S_ID(%ebx), %ecx
        shl     $HISTOGRAM_SHIFT, %ecx
        incl    HISTOGRAMS(%ecx, %eax, 4)
        ret

/* The same, but the waiting one halts and is woken by an IPI. */
work_ipi:
        mov     S_CELL(%ebx), %esi
        mov     S_PARITY(%ebx), %edx
        test    %esi, %esi
        jz      alone
1:      cli
        mov     (%esi), %eax
        xor     %edx, %eax
        test    $1, %al
        jz      2f
        cmpl    $MODE_IPI, MODE
        jne     work
        sti
        hlt
        jmp     work                    /* pairs may have changed */
2:      incl    (%esi)
        incl    S_COUNT(%ebx)
        mov     S_PARTNER(%ebx), %eax
        shl     $24, %eax
        mov     %eax, APIC_ICR_HIGH
        movl    $ICR_FIXED | VECTOR_WAKE, APIC_ICR
        jmp     work

/* A vCPU without a partner: slow, but alive. */
alone:
        incl    S_COUNT(%ebx)
        hlt
        jmp     work

/* Busy for one tick of its own timer, halted for the next. */
        .macro  half_the_time mode, busy:vararg
        cmp     BOOT_SLOT, %ebx         /* its timer runs anyway */
        je      1f
        movl    $TIMER_COUNT, APIC_TIMER_INITIAL
1:      \busy
        cmpl    $\mode, MODE
        jne     stop_timer
        testl   $1, S_TICKS(%ebx)
        jz      1b
        cli
        testl   $1, S_TICKS(%ebx)
        jz      2f
        sti
        hlt
        jmp     work                    /* the mode may have been another */
2:      sti
        jmp     1b
        .endm

work_half:
        half_the_time MODE_HALF, incl S_COUNT(%ebx)

/* The same, looking at its partner while it is busy. */
work_nap:
        cmpl    $0, S_CELL(%ebx)
        je      alone
        half_the_time MODE_NAP, call look

stop_timer:
        cmp     BOOT_SLOT, %ebx
        je      work
        movl    $0, APIC_TIMER_INITIAL
        jmp     work

/*
 * Interrupts. A return without IRET: the frame (EIP, CS, EFLAGS) becomes
 * (EFLAGS, EIP), since the code segment never changes.
 */
irq_wake:
        movl    $0, APIC_EOI
irq_return:
        push    %eax
        mov     12(%esp), %eax
        mov     %eax, 8(%esp)
        mov     4(%esp), %eax
        mov     %eax, 12(%esp)
        pop     %eax
        add     $4, %esp
        popfl
        ret

/* The timer starts anew when its tick is served: on a host so slow that this
 * takes longer than a tick, the work goes on all the same. */
irq_tick:
        pushal
        movl    $0, APIC_EOI
        mov     APIC_ID, %ebx
        shr     $24, %ebx
        shl     $SLOT_SHIFT, %ebx
        add     $SLOTS, %ebx
        incl    S_TICKS(%ebx)
        cmp     BOOT_SLOT, %ebx
        je      1f
        cmpl    $MODE_HALF, MODE
        je      2f
        cmpl    $MODE_NAP, MODE
        je      2f
        jmp     3f
1:      call    service
2:      movl    $TIMER_COUNT, APIC_TIMER_INITIAL
3:      popal
        jmp     irq_return

/* Fifty times a second, in the boot CPU: a report or one command. Who sends
 * them without end does not keep the boot CPU from its work. */
service:
        decl    COUNTDOWN
        jz      report_ticks
        call    read_command
        jnz     do_command
        ret

/* Out: ZF set if there is none, else %al. All ones: there is no COM1. */
read_command:
        mov     $COM1_LSR, %dx
        inb     %dx, %al
        cmp     $0xff, %al
        je      1f
        test    $LSR_DATA_READY, %al
        jz      1f
        mov     $COM1, %dx
        inb     %dx, %al
        or      $1, %edx                /* clears ZF */
1:      ret

/* In: %al. */
do_command:
        cmp     $'q', %al
        je      power_off
        cmp     $'p', %al
        je      hotplug
        cmp     $'t', %al
        je      report_ticks
        cmp     $'e', %al
        je      report_steal
        cmp     $'k', %al
        je      report_looks
        cmp     $'v', %al
        je      report_meets
        xor     %ecx, %ecx
1:      cmp     mode_names + 7(, %ecx, 8), %al
        je      set_mode
        inc     %ecx
        cmp     $N_MODES, %ecx
        jb      1b
        ret                             /* unknown: a newline, say */

/* In: %ecx. Halted vCPUs are woken to see it. */
set_mode:
        mov     %ecx, MODE
        movl    $ICR_OTHERS | ICR_FIXED | VECTOR_WAKE, APIC_ICR
        jmp     report_mode

/*
 * CPUs come and go: what an operating system's ACPI code would do. Those to
 * be removed are stopped by INIT and ejected, new ones are started.
 */
hotplug:
        mov     HOTPLUG, %ebp
        test    %ebp, %ebp
        jz      report_up               /* microvm: no CPU hot-plug */
        /* writing 0 selects CPU 0 and, once, the modern registers */
        xor     %eax, %eax
        lea     HP_SELECT(%ebp), %edx
        outl    %eax, %dx
1:      mov     $HP_CMD_NEXT_EVENT, %al
        lea     HP_COMMAND(%ebp), %edx
        outb    %al, %dx
        lea     HP_STATUS(%ebp), %edx
        inb     %dx, %al
        test    $HP_INSERTED | HP_REMOVING, %al
        jz      2f
        push    %eax
        and     $HP_INSERTED | HP_REMOVING, %al
        outb    %al, %dx                /* the event is seen */
        pop     %eax
        test    $HP_REMOVING, %al
        jz      1b
        call    remove_cpu
        jmp     1b
2:      call    read_expected
        call    init_absent
3:      call    sipi_absent
        call    wait_for_others
        jne     3b
        jmp     report_up

/* In: %ebp = registers, with the CPU selected. */
remove_cpu:
        mov     $HP_CMD_APIC_ID, %al
        lea     HP_COMMAND(%ebp), %edx
        outb    %al, %dx
        lea     HP_DATA(%ebp), %edx
        inl     %dx, %eax
        mov     %eax, %edi
        shl     $24, %eax
        mov     %eax, APIC_ICR_HIGH
        movl    $ICR_INIT, APIC_ICR
        shl     $SLOT_SHIFT, %edi
        add     $SLOTS, %edi
        xor     %eax, %eax
        mov     $SLOT_BYTES / 4, %ecx
        rep     stosl
        mov     $HP_EJECT, %al
        lea     HP_STATUS(%ebp), %edx
        outb    %al, %dx
        ret

/* INIT, or SIPI, to every id that has not reported: INIT would reset one
 * that has. */
init_absent:
        mov     $ICR_INIT, %edx
        jmp     1f
sipi_absent:
        mov     $ICR_SIPI, %edx
1:      mov     $SLOTS, %esi
        xor     %ecx, %ecx
2:      cmpl    $0, S_PRESENT(%esi)
        jne     3f
        mov     %ecx, %eax
        shl     $24, %eax
        mov     %eax, APIC_ICR_HIGH
        mov     %edx, APIC_ICR
3:      add     $SLOT_BYTES, %esi
        inc     %ecx
        cmp     $MAX_IDS, %ecx
        jb      2b
        ret

/* A moment of patience. Out: ZF set if all expected vCPUs are there. */
wait_for_others:
        mov     $100, %ecx
1:      pause
        loop    1b
        call    count_present
        cmp     EXPECTED, %eax
        ret

/* Out: %eax. */
count_present:
        xor     %eax, %eax
        mov     $SLOTS, %esi
        mov     $MAX_IDS, %ecx
1:      add     S_PRESENT(%esi), %eax
        add     $SLOT_BYTES, %esi
        loop    1b
        ret

/*
 * Pair the present vCPUs, first with second and so on. Those who use an old
 * pair meanwhile only move a word once too often: somebody's turn it always
 * is. In the end the last of an odd number is alone.
 */
make_pairs:
        xor     %edx, %edx              /* first of a pair, waiting */
        mov     $SLOTS, %esi
        mov     $MAX_IDS, %ecx
1:      cmpl    $0, S_PRESENT(%esi)
        je      3f
        test    %edx, %edx
        jnz     2f
        mov     %esi, %edx
        movl    $0, S_CELL(%esi)
        jmp     3f
2:      mov     S_ID(%edx), %eax
        mov     %eax, S_PARTNER(%esi)
        mov     S_ID(%esi), %eax
        mov     %eax, S_PARTNER(%edx)
        movl    $0, S_PARITY(%edx)
        movl    $1, S_PARITY(%esi)
        lea     S_WORD(%edx), %eax
        mov     %eax, S_CELL(%esi)
        mov     %eax, S_CELL(%edx)
        xor     %edx, %edx
3:      add     $SLOT_BYTES, %esi
        loop    1b
        ret

/* Out: %eax = EXPECTED = the vCPUs that QEMU has now. */
read_expected:
        mov     $FW_CFG_NB_CPUS, %eax
        call    fw_cfg_select
        xor     %eax, %eax
        mov     $FW_CFG_DATA, %dx
        inb     %dx, %al
        mov     %al, %cl
        inb     %dx, %al
        mov     %al, %ah
        mov     %cl, %al
        mov     %eax, EXPECTED
        ret

/* In: %ax = key. */
fw_cfg_select:
        mov     $FW_CFG_SELECT, %dx
        outw    %ax, %dx
        ret

/* In: %ecx = bytes, %edi = where to. */
fw_cfg_read:
        mov     $FW_CFG_DATA, %dx
        rep     insb
        ret

/* In: %eax = name of a fw_cfg file, %edx = its bytes with the zero. Out: ZF set
 * if there is one, BUFFER = the beginning of it, filled up with zeros. */
read_file:
        push    %edx
        push    %eax
        mov     $FW_CFG_DIRECTORY, %eax
        call    fw_cfg_select
        mov     $BUFFER, %edi
        mov     $4, %ecx
        call    fw_cfg_read
        mov     BUFFER, %ebp
        bswap   %ebp                    /* number of files */
1:      sub     $1, %ebp
        jc      3f                      /* ZF clear */
        mov     $BUFFER, %edi
        mov     $ENTRY_BYTES, %ecx
        call    fw_cfg_read
        mov     $BUFFER + E_NAME, %esi
        mov     (%esp), %edi
        mov     4(%esp), %ecx
        repe    cmpsb
        jne     1b
        mov     BUFFER + E_SIZE, %edx
        bswap   %edx
        cmp     $FILE_BYTES, %edx
        jbe     2f
        mov     $FILE_BYTES, %edx
2:      mov     %edx, %ebp
        mov     BUFFER + E_KEY, %ax
        xchg    %al, %ah
        call    fw_cfg_select
        xor     %eax, %eax
        mov     $BUFFER, %edi
        mov     $FILE_BYTES / 4 + 1, %ecx
        rep     stosl
        mov     $BUFFER, %edi
        mov     %ebp, %ecx
        call    fw_cfg_read
        cmp     %eax, %eax              /* ZF set */
3:      lea     8(%esp), %esp
        ret

/* What goes into the steal register, in hex digits; without any, the vCPU's
 * own record. */
read_steal:
        mov     $steal_file, %eax
        mov     $STEAL_FILE_BYTES, %edx
        call    read_file
        jne     3f
        movl    $1, STEAL_WANTED
        mov     $BUFFER, %esi
        xor     %ecx, %ecx
        xor     %edx, %edx
        xor     %eax, %eax
1:      lodsb
        sub     $'0', %al
        cmp     $9, %al
        jbe     2f
        sub     $'a' - '0', %al
        cmp     $5, %al
        ja      3f
        add     $10, %al
2:      shld    $4, %ecx, %edx
        shl     $4, %ecx
        or      %eax, %ecx
        mov     %ecx, STEAL_LOW
        mov     %edx, STEAL_HIGH
        jmp     1b
3:      ret

/* The mode from the fw_cfg file, if there is one; else spin. */
read_mode:
        mov     $mode_file, %eax
        mov     $MODE_FILE_BYTES, %edx
        call    read_file
        jne     5f
        xor     %ecx, %ecx
2:      mov     mode_names + 4(, %ecx, 8), %edx
        and     $0xffffff, %edx         /* without the letter */
        cmp     %edx, BUFFER + 4
        jne     3f
        mov     mode_names(, %ecx, 8), %edx
        cmp     %edx, BUFFER
        je      4f
3:      inc     %ecx
        cmp     $N_MODES, %ecx
        jb      2b
        mov     $text_bad_mode, %esi
        call    print_text
        mov     $BUFFER, %esi
        call    print_text
        jmp     print_newline
4:      mov     %ecx, MODE
5:      ret

/* The port of the CPU hot-plug registers, by the PCI host bridge. */
find_hotplug_port:
        mov     $0x80000000, %eax
        call    pci_select
        inl     %dx, %eax
        mov     $HP_PORT_PC, %ecx
        cmp     $0x12378086, %eax
        je      1f
        mov     $HP_PORT_Q35, %ecx
        cmp     $0x29c08086, %eax
        je      1f
        xor     %ecx, %ecx
1:      mov     %ecx, HOTPLUG
        ret

/* In: %eax = register. Out: %dx = data port. */
pci_select:
        mov     $PCI_ADDRESS, %dx
        outl    %eax, %dx
        mov     $PCI_DATA, %dx
        ret

/*
 * End. With isa-debug-exit QEMU's exit code is 1; else a soft power-off
 * through the ACPI registers of the machine, which nobody has set up yet.
 */
power_off:
        xor     %eax, %eax
        outb    %al, $DEBUG_EXIT
        movl    $PM_BASE | 1, %edi
        cmpl    $HP_PORT_PC, HOTPLUG
        je      1f
        cmpl    $HP_PORT_Q35, HOTPLUG
        je      2f
        movb    $GED_SLEEP_S5, GED_SLEEP
        jmp     4f
1:      mov     $0x80000b40, %eax       /* 00:01.3, PIIX4: PMBASE */
        mov     $0x80000b80, %ecx       /* PMREGMISC: enable */
        mov     $1, %ebp
        jmp     3f
2:      mov     $0x8000f840, %eax       /* 00:1f.0, ICH9: PMBASE */
        mov     $0x8000f844, %ecx       /* ACPI_CNTL: enable */
        mov     $0x80, %ebp
3:      call    pci_select
        mov     %edi, %eax
        outl    %eax, %dx
        mov     %ecx, %eax
        call    pci_select
        mov     %ebp, %eax
        outb    %al, %dx
        mov     $PM_BASE + 4, %dx       /* PM1_CNT */
        mov     $0x2000, %ax            /* sleep enable, type 0 = S5 */
        outw    %ax, %dx
4:      cli
        hlt
        jmp     4b

/* "llcsched-guest: up, N vCPUs" and "llcsched-guest: mode M" */
report_up:
        call    make_pairs
        mov     $text_up, %esi
        call    print_text
        call    count_present
        call    print_number
        mov     $text_vcpus, %esi
        call    print_text
report_mode:
        mov     $text_mode, %esi
        call    print_text
        mov     MODE, %eax
        lea     mode_names(, %eax, 8), %esi
        mov     $7, %ecx                /* the eighth byte is the letter */
1:      lodsb
        test    %al, %al
        jz      print_newline
        call    print_char
        loop    1b
        jmp     print_newline

/* "llcsched-guest: ticks A B C", in the order of APIC ids. Wakes those who
 * halt, so that their counters move as well. */
report_ticks:
        movl    $TICKS_PER_SECOND, COUNTDOWN
        mov     $text_ticks, %esi
        mov     $slot_ticks, %ebp
        call    report_slots
        movl    $ICR_OTHERS | ICR_FIXED | VECTOR_WAKE, APIC_ICR
        ret

/* "llcsched-guest: looks A B C" and "llcsched-guest: meets A B C" */
report_looks:
        mov     $text_looks, %esi
        mov     $slot_looks, %ebp
        jmp     report_slots
report_meets:
        mov     $text_meets, %esi
        mov     $slot_meets, %ebp
        jmp     report_slots

/* "llcsched-guest: steal A B C", in ns */
report_steal:
        mov     $text_steal, %esi
        mov     $slot_steal, %ebp
/* In: %esi = text, %ebp = routine, from slot %esi to number %edx:%eax. */
report_slots:
        call    print_text
        mov     $SLOTS, %esi
        mov     $MAX_IDS, %ecx
1:      cmpl    $0, S_PRESENT(%esi)
        je      2f
        mov     $' ', %al
        call    print_char
        call    *%ebp
        call    print_long
2:      add     $SLOT_BYTES, %esi
        loop    1b
        jmp     print_newline

slot_ticks:
        mov     S_COUNT(%esi), %eax
        xor     %edx, %edx
        ret

slot_looks:
        mov     S_LOOKS(%esi), %eax
        xor     %edx, %edx
        ret

slot_meets:
        mov     S_MEETS(%esi), %eax
        xor     %edx, %edx
        ret

/* Again, if it was being written. */
slot_steal:
        call    find_record
        push    %ebx
1:      mov     STEAL_VERSION(%edi), %ebx
        mov     STEAL_NS(%edi), %eax
        mov     STEAL_NS + 4(%edi), %edx
        test    $1, %bl
        jnz     1b
        cmp     %ebx, STEAL_VERSION(%edi)
        jne     1b
        pop     %ebx
        ret

/* In: %eax, or %edx:%eax. Keeps %ebx, %ecx, %esi, %ebp. */
print_number:
        xor     %edx, %edx
print_long:
        push    %ebx
        push    %ecx
        mov     $10, %ecx
        push    $0                      /* marks the end of the digits */
1:      mov     %eax, %ebx
        mov     %edx, %eax
        xor     %edx, %edx
        div     %ecx
        xchg    %eax, %ebx              /* the high half is divided */
        div     %ecx
        add     $'0', %edx
        push    %edx
        mov     %ebx, %edx
        or      %eax, %ebx
        jnz     1b
2:      pop     %eax
        test    %eax, %eax
        jz      3f
        call    print_char
        jmp     2b
3:      pop     %ecx
        pop     %ebx
        ret

/* In: %esi, ended by a zero. */
print_text:
        lodsb
        test    %al, %al
        jz      1f
        call    print_char
        jmp     print_text
1:      ret

print_newline:
        mov     $'\n', %al
/* In: %al. Keeps all but %edx. Waits while the host does not read. */
print_char:
        mov     %al, %ah
        mov     $COM1_LSR, %dx
1:      inb     %dx, %al
        test    $LSR_CAN_SEND, %al
        jz      1b
        mov     %ah, %al
        mov     $COM1, %dx
        outb    %al, %dx
        ret

        .balign 4
work_table:
        .long   work_spin, work_halt, work_hop, work_ipi, work_half
        .long   work_one, work_gap, work_lag, work_burst, work_meet
        .long   work_nap, work_pulse, work_relay
/* Seven bytes of name, and the command that sets it. */
mode_names:
        .ascii  "spin\0\0\0s"
        .ascii  "halt\0\0\0h"
        .ascii  "hop\0\0\0\0o"
        .ascii  "ipi\0\0\0\0i"
        .ascii  "half\0\0\0f"
        .ascii  "one\0\0\0\0n"
        .ascii  "gap\0\0\0\0g"
        .ascii  "lag\0\0\0\0l"
        .ascii  "burst\0\0b"
        .ascii  "meet\0\0\0m"
        .ascii  "nap\0\0\0\0a"
        .ascii  "pulse\0\0u"
        .ascii  "relay\0\0y"
mode_file:
        .asciz  "opt/llcsched/mode"
        .equ    MODE_FILE_BYTES, . - mode_file
steal_file:
        .asciz  "opt/llcsched/steal"
        .equ    STEAL_FILE_BYTES, . - steal_file
text_starting:
        .asciz  "llcsched-guest: starting "
text_up:
        .asciz  "llcsched-guest: up, "
text_vcpus:
        .asciz  " vCPUs\n"
text_mode:
        .asciz  "llcsched-guest: mode "
text_ticks:
        .asciz  "llcsched-guest: ticks"
text_looks:
        .asciz  "llcsched-guest: looks"
text_meets:
        .asciz  "llcsched-guest: meets"
text_steal:
        .asciz  "llcsched-guest: steal"
text_bad_mode:
        .asciz  "llcsched-guest: unknown mode, so spin: "

        .org    ROM_SIZE - 16
        .code16
        jmp     start_boot16
        .org    ROM_SIZE
