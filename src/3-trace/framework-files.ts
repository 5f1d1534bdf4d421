const here = import.meta.url; // apart from `new URL`, which bundlers take for the name of an asset
/** Path of the folder that holds `runtime/` and `src/`. */
const root = decodeURIComponent(new URL('../../', here).pathname);

/** Files of this package itself. */
export function isFrameworkFile(file: string): boolean {
  return file.startsWith(`${root}runtime/`) || file.startsWith(`${root}src/`);
}

const inlined = ['nn', 'optim', 'control-flow'];

/** `cond`, `whileLoop` and their like, whose decisions always belong to the program. */
export function isControlFlowFile(file: string): boolean {
  return file.startsWith(`${root}runtime/control-flow/`);
}

/** Modules, optimizers and control flow are ordinary code and are inlined; the rest of the package is not looked into. */
export function isInlinedFrameworkFile(file: string): boolean {
  return inlined.some((folder) => file.startsWith(`${root}runtime/${folder}/`));
}
