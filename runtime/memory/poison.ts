/**
 * While active, memory is overwritten when allocated and when freed. A kernel that reads memory before it is
 * written or after it is freed then computes visibly wrong values: NaN in floating-point tensors, −1 in int32, 255
 * in uint8 and bool. Enabled by check mode.
 */
export const poisoning = { active: false };

/** The value of every poisoned byte, which all floating-point dtypes read as NaN. */
export const poisonByte = 0xff;
