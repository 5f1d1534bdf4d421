import { ownPartOfFile, publishedScheme, sourceFolder } from '../../../runtime/errors/own-code.ts';

/** Returns whether a file belongs to this package. */
export function isFrameworkFile(file: string): boolean {
  return ownPartOfFile(file) !== null;
}

const prefixes = [publishedScheme, ...(sourceFolder === null ? [] : [sourceFolder])];
const inlined = [
  ...['nn', 'optim', 'functional', 'distributions', 'control-flow', 'onnx', 'implicit'],
].flatMap(pathsOf);
const controlFlow = pathsOf('control-flow');

/** Returns the path prefixes of a runtime folder, in the sources and as published. */
function pathsOf(folder: string): string[] {
  return prefixes.map((prefix) => `${prefix}runtime/${folder}/`);
}

/**
 * Returns whether a file defines `cond`, `whileLoop` or a similar function, whose decisions always become part of
 * the program.
 */
export function isControlFlowFile(file: string): boolean {
  return controlFlow.some((path) => file.startsWith(path));
}

/**
 * Returns whether a file of this package is inlined. Modules, optimizers, op functions, control flow and imported
 * models are ordinary code; the rest of the package is opaque. The build instruments the same folders
 * (`build/own-code.ts`), except for implicit constructors (`src/1-capture/capture.ts`).
 */
export function isInlinedFrameworkFile(file: string): boolean {
  return inlined.some((path) => file.startsWith(path));
}
