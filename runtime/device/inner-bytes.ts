/**
 * Bytes that the CPU device has for values between the stages of a staged op: of a block of rows, which stays in
 * the caches. A fixed cost of the device, no tensor's memory.
 */
export const innerBytes: number = 8 << 20;

/** Kernels read vectors: a value begins where one may. */
export const slotAlignment = 64;
