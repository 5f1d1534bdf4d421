import { gradEnabled } from '../../runtime/autograd/grad-mode.ts';
import type { Program, ValueId } from '../../runtime/program/program.ts';
import type { Frame } from '../bytecode/frame.ts';
import type { Instruction, Opcode } from '../bytecode/instructions.ts';
import type { Guard } from '../guards/guard.ts';
import type { NumberHistory } from '../guards/number-history.ts';
import { sourceKey } from '../guards/source-key.ts';
import { type BreakRecord, GraphBreak } from '../traces/graph-break.ts';
import type { Outcome, TraceResult } from '../traces/trace-result.ts';
import type { CodeOf } from './code-of.ts';
import { callHandlers } from './handlers/calls.ts';
import { controlHandlers } from './handlers/control.ts';
import { get, type Handler, type Handlers, set } from './handlers/handler.ts';
import { objectHandlers } from './handlers/objects.ts';
import { operatorHandlers } from './handlers/operators.ts';
import { valueHandlers } from './handlers/values.ts';
import { callInside } from './invoke.ts';
import { Reconstruction } from './reconstruct.ts';
import { Tracer } from './tracer.ts';
import type { Variable } from './variable.ts';

/** One for each opcode: a missing one fails to compile. */
const handlers: Handlers<Exclude<Opcode, 'return'>> = {
  ...valueHandlers,
  ...operatorHandlers,
  ...objectHandlers,
  ...controlHandlers,
  ...callHandlers,
};

export interface TraceOptions {
  /** Which numbers were found at this point before. */
  readonly history: NumberHistory;
  /** Numbers that came out of a break are not guarded by value any more: they kept changing. */
  readonly numbersAreVolatile?: boolean;
}

/**
 * Symbolic execution. In: the frames to go on with (one at pc 0 for a call). Out: the program of the
 * tensor ops up to the next break or the return, what it relies on, and how to go on from there.
 * Guarantees: no user code has run and nothing of the user's has changed.
 */
export function trace(
  entryFrames: readonly Frame[],
  codeOf: CodeOf,
  { history, numbersAreVolatile = false }: TraceOptions,
): TraceResult {
  const tracer = new Tracer(entryFrames, codeOf, { numbersAreVolatile, history });
  const end = execute(tracer);
  const reconstruction = new Reconstruction(tracer);
  const outcome: Outcome =
    end.kind === 'return'
      ? { kind: 'return', value: reconstruction.recipe(end.value) }
      : {
          kind: 'break',
          record: end.record,
          frames: tracer.frames.map((frame, depth) =>
            reconstruction.frame(frame, frame.pc, tracer.frames[depth + 1]?.returnTo),
          ),
        };
  const effects = reconstruction.effects();
  const program = tracer.builder.finish(reconstruction.outputs);
  return {
    guards: [
      ...tracer.guards.values(),
      ...distinctInputs(tracer, program),
      ...tracer.effects.met.guards(),
      ...disposedInputs(tracer),
    ],
    inputs: tracer.inputs.map(({ source }) => source),
    numbers: tracer.numbers,
    scalars: tracer.scalars,
    needsGrad: tracer.inputs.map(({ tensor }) => tensor.requiresGrad),
    differentiable: reconstruction.differentiable(),
    program,
    makes: reconstruction.makes,
    effects,
    outcome,
    codes: entryFrames.map((frame) => frame.closure.code),
    pcs: entryFrames.map((frame) => frame.pc),
  };
}

/**
 * Of an input that several ops read, gradients come in several parts. Were it the same tensor as another
 * input, eager execution would sum the parts of both in another order, which shows in the last bit.
 */
function distinctInputs({ inputs }: Tracer, { inputs: ids, ops }: Program): Guard[] {
  if (!gradEnabled()) return [];
  const differentiable = inputs.flatMap(({ source, tensor }, i) =>
    tensor.requiresGrad ? [{ source, id: ids[i]! }] : [],
  );
  const uses = (id: ValueId) => ops.flatMap((op) => op.inputs).filter((each) => each === id).length;
  const multiple = differentiable.filter(({ id }) => differentiable.length > 1 && uses(id) > 1);
  return multiple.map(({ source, id }) => {
    const others = differentiable.filter((other) => other.id !== id);
    return { kind: 'distinct', source, others: others.map((other) => other.source) };
  });
}

/** What is given back is none of the tensors that are used, or exactly those that it was here. */
function disposedInputs({ effects, inputs }: Tracer): Guard[] {
  return [...effects.disposed].flatMap(([tensor, { source }]) =>
    inputs.flatMap(({ source: other, actual }): Guard[] => {
      if (!source || sourceKey(source) === sourceKey(other)) return [];
      return [{ kind: 'same', source, other, same: actual === tensor }];
    }),
  );
}

type End =
  | { readonly kind: 'return'; readonly value: Variable }
  | { readonly kind: 'break'; readonly record: BreakRecord };

function execute(tracer: Tracer): End {
  tracer.callInside = (callee, receiver, args) => callInside(tracer, callee, receiver, args);
  tracer.runAbove = (depth) => runAbove(tracer, depth);
  try {
    return { kind: 'return', value: tracer.runAbove(0) };
  } catch (error) {
    if (!(error instanceof GraphBreak)) throw error;
    const { reason, detail, at = tracer.position() } = error;
    return { kind: 'break', record: { reason, detail, at } };
  }
}

/** Until the frame at `depth` returns. The outermost one stays: nobody waits for it. */
function runAbove(tracer: Tracer, depth: number): Variable {
  for (;;) {
    tracer.tick();
    const frame = tracer.top;
    const instruction = frame.closure.code.instructions[frame.pc]!;
    if (instruction.op !== 'return') {
      const handler = handlers[instruction.op] as Handler<Opcode>;
      const next = handler(tracer, frame, instruction as Instruction);
      frame.pc = next ?? frame.pc + 1;
      continue;
    }
    const value = get(frame, instruction.src);
    const caller = tracer.frames[tracer.frames.length - 2];
    if (!caller) return value;
    tracer.frames.pop();
    if (tracer.frames.length === depth) return value;
    if (frame.returnTo !== undefined) set(caller, frame.returnTo, value);
  }
}
