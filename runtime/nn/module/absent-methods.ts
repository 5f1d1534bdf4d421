/**
 * PyTorch's methods that modules here don't have, and what to write. Types don't declare them: a class of the
 * user's may have members of these names.
 */
export const absentModuleMethods = {
  forward: 'define it, or call the modules inside',
  cuda: "move it with model.to('gpu') after await init('gpu')",
  registerBuffer: 'assign a property: this.name = buffer(tensor)',
  registerParameter: 'assign a property: this.name = parameter(tensor)',
  registerModule: 'assign a property: this.name = module',
  addModule: 'assign a property: this.name = module',
} as const;
