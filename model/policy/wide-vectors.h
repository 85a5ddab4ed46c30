/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_WIDE_VECTORS_H
#define ALLREDUCE_WIDE_VECTORS_H

/**
 * @ingroup allreduce
 * Goes before a function that works on many numbers or bits at once: where the processor has AVX2,
 * and with it an instruction that counts bits, a second version of it is used, about twice as fast.
 * Without fused multiplications, so that sums are the same everywhere.
 */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define ALLREDUCE_WIDE_VECTORS __attribute__((target_clones("avx2", "default")))
#else
#define ALLREDUCE_WIDE_VECTORS
#endif

#endif /* ALLREDUCE_WIDE_VECTORS_H */
