import { ArgumentError } from '../../../runtime/errors/errors.ts';

/**
 * Throws ArgumentError for a module: this command reads a file written by `save`, while other commands run a module's
 * functions.
 */
export function expectSaved(command: string, file: string): void {
  if (!/\.[cm]?[jt]sx?$/.test(file)) return;
  throw new ArgumentError({
    what: `${command}: a module is not a saved program`,
    given: file,
    expected: 'a file that save() has made',
    remedy: "call the captured function, then save it: await save(step, 'step.tostatic')",
  });
}
