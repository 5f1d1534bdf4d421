/** What a machine returns that stops after every instruction: the frame says where it continues. */
export const stopped = Symbol('stopped');
