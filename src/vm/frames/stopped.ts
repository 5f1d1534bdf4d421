/** The result of a machine that stops after every instruction: the frame says where it continues. */
export const stopped = Symbol('stopped');
