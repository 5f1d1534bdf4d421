let generates: boolean | undefined;

/** Saved before user code can replace it. */
export const FunctionConstructor = Function;

/** Returns whether code can be generated from text: a content security policy without `unsafe-eval` forbids it. */
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
