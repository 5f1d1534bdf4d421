let generates: boolean | undefined;

/** Kept from before user code could replace it. */
export const FunctionConstructor = Function;

/** Whether code may be made of text here: a content security policy without `unsafe-eval` forbids it. */
export function mayGenerate(): boolean {
  if (generates === undefined) {
    try {
      new FunctionConstructor('');
      generates = true;
    } catch {
      generates = false;
    }
  }
  return generates;
}
