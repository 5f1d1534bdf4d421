/**
 * PyTorch's methods that modules lack here, with what to write instead. The types don't declare them, because a user's
 * class may have members with these names.
 */
export const absentModuleMethods = {
  forward: 'define it, or call the modules inside',
  cuda: "move it with model.to('gpu') after await init('gpu')",
  registerBuffer: 'assign a property: this.name = buffer(tensor)',
  registerParameter: 'assign a property: this.name = parameter(tensor)',
  registerModule: 'assign a property: this.name = module',
  addModule: 'assign a property: this.name = module',
} as const;
