import { viewOf } from '../../../../runtime/device/cpu/core/host-kernels.ts';
import type { Plan } from '../../../../runtime/program/plan.ts';
import { writtenInputs } from '../../../../runtime/program/writes.ts';
import { sizeOf } from '../../../../runtime/spec/shape.ts';
import { indexAt, type ModuleEntry, type ModuleMemory, printed } from '../plan/module-memory.ts';
import type { ExpressionWriter } from './expressions.ts';

/** Statements about the arguments of a plan. */
interface ArgumentTexts {
  /** Statements that return an error text if the arguments are invalid. */
  readonly checks: string;
  readonly puts: string;
  /** Statements that copy written values back into the caller's arrays. */
  readonly backs: string;
}

export function argumentTexts(
  program: number,
  { saved, inputs }: ModuleEntry,
  { inputs: ids, steps }: Plan,
  memory: ModuleMemory,
  writer: ExpressionWriter,
): ArgumentTexts {
  const written = new Set(writtenInputs({ inputs: ids, ops: steps.map(({ op }) => op) }));
  const all = saved.inputs.flatMap(({ place }, i) => {
    if (place.kind === 'state') return [];
    const { dtype, shape } = inputs[i]!;
    const name = printed(place);
    const at = indexAt(memory.placeOf(program, place), inputs[i]!);
    const value = writer.source(place);
    const known = `${JSON.stringify(name)},${value},'${dtype}',[${shape.join()}]`;
    const data = `dataOf(${value})`;
    const view = viewOf[dtype];
    return {
      ...{ name, data, isWritten: written.has(i) },
      check: `if(wrong=mismatch(${known}))return wrong;`,
      put: `${view}.set(${data},${at});`,
      back: `${data}.set(${view}.subarray(${at},${at + sizeOf(shape)}));`,
    };
  });
  const ofWritten = all.filter(({ isWritten }) => isWritten);
  // The program was compiled for arguments that don't share memory.
  const apart = ofWritten.flatMap((one) =>
    all.flatMap((other) => {
      if (other.data === one.data) return [];
      const message = `${one.name} is written, and shares memory with ${other.name}`;
      const error = `new ModuleError('ArgumentError',${JSON.stringify(message)})`;
      return `if(overlap(${one.data},${other.data}))return ${error};`;
    }),
  );
  const lines = (list: readonly string[]): string => [...new Set(list)].join('\n');
  return {
    checks: lines([...all.map(({ check }) => check), ...apart]),
    puts: lines(all.map(({ put }) => put)),
    backs: lines(ofWritten.map(({ back }) => back)),
  };
}
