import { ownPartOfFile, publishedScheme, sourceFolder } from '../../../runtime/errors/own-code.ts';

/** Files of this package itself. */
export function isFrameworkFile(file: string): boolean {
  return ownPartOfFile(file) !== null;
}

const prefixes = [publishedScheme, ...(sourceFolder === null ? [] : [sourceFolder])];
const inlined = ['nn', 'optim', 'functional', 'control-flow', 'onnx'].flatMap(pathsOf);
const controlFlow = pathsOf('control-flow');

/** How files of a folder of the runtime begin, as sources and as published. */
function pathsOf(folder: string): string[] {
  return prefixes.map((prefix) => `${prefix}runtime/${folder}/`);
}

/** `cond`, `whileLoop` and their like, whose decisions always belong to the program. */
export function isControlFlowFile(file: string): boolean {
  return controlFlow.some((path) => file.startsWith(path));
}

/**
 * Modules, optimizers, functions of ops, control flow and imported models are ordinary code and are inlined; the rest of the package is not
 * looked into. The build instruments the same folders (`build/own-code.ts`).
 */
export function isInlinedFrameworkFile(file: string): boolean {
  return inlined.some((path) => file.startsWith(path));
}
