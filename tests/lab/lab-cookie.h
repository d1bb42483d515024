/*
 * Cookies given and taken from outside, as libvirt does it, or a bad neighbor
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TESTS_LAB_LAB_COOKIE_H
#define TESTS_LAB_LAB_COOKIE_H

/* Give the @n threads one new cookie; fails the program if that fails. */
void lab_cookie_give(const int *tids, int n);

/* Take away what cookie they have. */
void lab_cookie_clear(const int *tids, int n);

/* Somebody else takes on the cookie of @tid, and ends. */
void lab_cookie_copy(int tid);

#endif
