/** What gpu.js and WebGPU can hold. Apart from gpu.js itself, which is loaded only when asked for. */

/** WebGPU guarantees 8 storage buffers per shader, and gpu.js asks for no more; one is the output. */
export const maxArrays = 7;

/** gpu.js computes indices in float32: whole numbers are exact up to here. */
export const maxElements = 2 ** 24;
