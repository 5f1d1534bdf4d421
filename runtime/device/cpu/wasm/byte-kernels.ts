import { copyMemory, fillMemory } from './assembler/code.ts';
import { type FunctionBuilder, get } from './assembler/function-builder.ts';
import { compile, lazily } from './assembler/module-builder.ts';

/** (to, byte, length) */
function fill(f: FunctionBuilder): void {
  const [to, byte, length] = [f.param(), f.param(), f.param()];
  f.emit(fillMemory(get(to), get(byte), get(length)));
}

/** (to, from, length); the ranges may overlap. */
function copy(f: FunctionBuilder): void {
  const [to, from, length] = [f.param(), f.param(), f.param()];
  f.emit(copyMemory(get(to), get(from), get(length)));
}

export const byteKernels = lazily(() => compile({ fill, copy }));
