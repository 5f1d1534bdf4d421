/** What a machine returns that stops after every instruction: the frame says where it goes on. */
export const stopped = Symbol('stopped');
