/** The result of a machine that stops after every instruction. The frame records where it continues. */
export const stopped = Symbol('stopped');
