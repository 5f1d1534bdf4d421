/**
 * While active, memory is overwritten when it is allocated and when it is freed, so that a kernel which reads
 * memory that no op has written, or that was freed, computes visibly wrong values: NaN in floating-point
 * tensors, -1 in int32, 255 in uint8 and bool. Check mode switches it on.
 */
export const poisoning = { active: false };

/** Every byte of poisoned memory: all dtypes of floating-point numbers read it as NaN. */
export const poisonByte = 0xff;
