/**
 * The CPU's memory for values between the stages of a staged op: a block of rows, which stays in the caches. A fixed
 * cost of the device, not attributed to tensors.
 */
export const innerBytes: number = 8 << 20;

/** Values are aligned for vector reads. */
export const slotAlignment = 64;
