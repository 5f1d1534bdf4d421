import { viewOf } from '../../../../runtime/device/cpu/core/host-kernels.ts';
import type { TensorMeta } from '../../../../runtime/device/tensor-meta.ts';
import { scalarTableIn } from '../../../../runtime/program/scalars.ts';
import type { SavedEffect } from '../../../../runtime/save/saved-entry.ts';
import type { SavedGuard } from '../../../../runtime/save/saved-guard.ts';
import type { SavedSource } from '../../../../runtime/save/saved-source.ts';
import { isContiguous, sizeOf } from '../../../../runtime/spec/shape.ts';
import type { CompiledPlan } from '../plan/compile-plan.ts';
import {
  indexAt,
  keyOf,
  type Layout,
  type ModuleEntry,
  type ModuleMemory,
  printed,
} from '../plan/module-memory.ts';
import type { Place } from '../recording/record-plan.ts';
import { notInModule } from '../recording/recording-device.ts';
import { argumentTexts } from './argument-texts.ts';
import { ExpressionWriter, type RecipeTexts, scalarStatements } from './expressions.ts';
import { textOf } from './item-text.ts';
import { inLoops } from './loops.ts';
import { type StatementNames, statementsOf } from './statements.ts';

interface PlanText {
  readonly text: string;
  /** The number of kernel launches in a run. */
  readonly launches: number;
  readonly statements: number;
}

/** The most statements of one function: engines don't optimize longer ones. */
const mostStatements = 200;

const layoutText = (place: Place, { dtype, shape, strides }: Layout): string => {
  const stridesText = isContiguous(shape, strides) ? '' : `,[${strides.join()}]`;
  return `${viewOf[dtype]},${indexAt(place, { dtype, shape, strides })},'${dtype}',[${shape.join()}]${stridesText}`;
};

/** Throws an ArgumentError that names what a module can't change or return. */
export function planText(
  number: number,
  { saved, inputs }: ModuleEntry,
  { actions, outputs, copied, planned }: CompiledPlan,
  memory: ModuleMemory,
  names: StatementNames,
): PlanText {
  const shapes = new Map(saved.inputs.map(({ place }, i) => [keyOf(place), inputs[i]!.shape]));
  const writer = new ExpressionWriter((source) => shapes.get(keyOf(source)) ?? null);
  const metas = planned.forward.outputs.map((id) => planned.values[id]!);
  const statements = statementsOf(actions, names);
  const needed = new Set(
    statements.flatMap(({ numbers }) =>
      numbers.flatMap((n) => (typeof n === 'number' ? [] : [n.id])),
    ),
  );
  const lines = textOf(inLoops(statements));
  const table = scalarTableIn(planned);
  const scalars = table
    ? scalarStatements(
        table,
        saved.numbers.map((source) => writer.source(source)),
        needed,
      )
    : '';
  const { functions, calls } = partTexts(`part${number}_`, lines, scalars);
  const args = argumentTexts(number, { saved, inputs }, planned.forward, memory, writer);
  const texts: RecipeTexts = {
    ...outputTexts(outputs, metas),
    place: (source) => sourceText(source, writer, memory),
  };
  const guards = saved.guards.map((guard) => guardText(guard, writer, memory));
  const result = writer.recipe(saved.result, texts);
  const makes = writer.makes(saved.makes, texts);
  const effects = saved.effects.map((effect, i) => {
    return effectText(effect, `n${i}`, writer, texts, memory, metas);
  });
  const before = effects.map(({ read }) => read).join('');
  const after = effects.map(({ change }) => change).join('');
  const drawn = saved.randomNumbers > 0 ? `offset+=${saved.randomNumbers};` : '';
  const outputNames = outputs.map((_, i) => `o${i}`);
  const text = `${functions}
plans.push({misfit(args){
let wrong=null;
${args.checks}
${guards.join('\n')}
return null;
},run(args){
${args.puts}
${scalars}
${restoring(calls, copied)}
${outputNames.length > 0 ? `let ${outputNames.join()};` : ''}
${makes}const result=${result};
${before}${after}${drawn}${args.backs}
return result;
}});`;
  const launches = actions.actions.filter(({ kind }) => kind !== 'write').length;
  return { text, launches, statements: lines.length };
}

function guardText(guard: SavedGuard, writer: ExpressionWriter, memory: ModuleMemory): string {
  const source = guard.kind === 'number' ? 'its numbers' : printed(guard.source);
  const message = JSON.stringify(
    `${named(source, memory)}: not as in the calls that the module was made of`,
  );
  return `if(!(${writer.guard(guard)}))return new ModuleError('ArgumentError',${message});`;
}

/** Divides the statements among functions, which receive the numbers that they read; returns the calls. */
function partTexts(prefix: string, lines: readonly string[], scalars: string) {
  const ids = [...scalars.matchAll(/const (s\d+)=/g)].map(([, id]) => id!);
  const usedIds = ids.filter((id) => lines.some((line) => new RegExp(`\\b${id}\\b`).test(line)));
  const functions: string[] = [];
  let calls = '';
  for (let i = 0; i < lines.length; i += mostStatements) {
    const name = `${prefix}${functions.length}`;
    const part = lines.slice(i, i + mostStatements);
    functions.push(`const ${name}=(${usedIds.join()})=>{\n${part.join('\n')}\n};`);
    calls += `${name}(${usedIds.join()});`;
  }
  return { functions: functions.join('\n'), calls };
}

/** Reads outputs as tensors and as numbers. */
function outputTexts(
  outputs: CompiledPlan['outputs'],
  metas: readonly TensorMeta[],
): Pick<RecipeTexts, 'output' | 'scalar'> {
  return {
    output: (index) => `(o${index}??=read(${layoutText(outputs[index]!, metas[index]!)}))`,
    scalar: (index, type) => {
      const meta = metas[index]!;
      if (meta.dtype === 'float16' || meta.dtype === 'bfloat16') {
        throw notInModule('a result', `a number out of ${meta.dtype}`);
      }
      const element = `${viewOf[meta.dtype]}[${indexAt(outputs[index]!, meta)}]`;
      return type === 'boolean' ? `${element}!==0` : element;
    },
  };
}

const named = (source: string, memory: ModuleMemory): string =>
  source.replace(/^state\.(\d+)/, (_, index) => memory.state[Number(index)]!.name);

/** A run that rejects a value must leave the state unchanged. */
function restoring(calls: string, copied: CompiledPlan['copied']): string {
  if (copied.length === 0) return calls;
  const move = (to: number, from: number, bytes: number) =>
    `u8.copyWithin(${to},${from},${from + bytes});`;
  const save = copied.map(({ from, to, bytes }) => move(to, from, bytes));
  const restore = copied.map(({ from, to, bytes }) => move(from, to, bytes));
  return `${save.join('')}try{${calls}}catch(error){${restore.join('')}throw error;}`;
}

function sourceText(source: SavedSource, writer: ExpressionWriter, memory: ModuleMemory): string {
  if (source.kind !== 'state') return writer.source(source);
  const state = memory.state[source.index]!;
  return 'tensor' in state
    ? `read(${layoutText(state.tensor.place, state.tensor)})`
    : writer.source(source);
}

/** Emits a change after the run: everything is read before anything changes. */
function effectText(
  effect: SavedEffect,
  value: string,
  writer: ExpressionWriter,
  texts: RecipeTexts,
  memory: ModuleMemory,
  metas: readonly Layout[],
): { readonly read: string; readonly change: string } {
  if (effect.kind === 'draw') {
    return {
      read: `const ${value}=${writer.recipe(effect.count, texts)};`,
      change: `offset+=${value};`,
    };
  }
  switch (effect.kind) {
    // Only the state outlives a run.
    case 'disposeOutput':
    case 'keepOutput':
    case 'dispose':
      return { read: '', change: '' };
  }
  if (effect.kind !== 'set' || effect.place.kind !== 'state') {
    throw notInModule(named(printed(effect.place), memory), 'a change to what an argument holds');
  }
  const { index } = effect.place;
  const state = memory.state[index]!;
  const { kind } = effect.value;
  if (!('tensor' in state)) {
    // A gradient that no program reads: only whether it exists matters.
    const isTensor =
      kind === 'output' || (kind === 'source' && isTensorAt(effect.value.source, memory));
    const text = isTensor ? '{}' : writer.recipe(effect.value, texts);
    return { read: `const ${value}=${text};`, change: `values[${index}]=${value};` };
  }
  const { place, ...layout } = state.tensor;
  if (kind === 'output') {
    const meta = metas[effect.value.index]!;
    const isSame = meta.dtype === layout.dtype && String(meta.shape) === String(layout.shape);
    if (!isSame) throw notInModule(state.name, 'a tensor of other sizes in its place');
    const strides = isContiguous(layout.shape, layout.strides) ? '' : `[${layout.strides.join()}]`;
    const target = `${viewOf[layout.dtype]},${indexAt(place, layout)},[${layout.shape.join()}]`;
    return {
      read: `const ${value}=${texts.output(effect.value.index)};`,
      change: `write(${target},${strides || 'null'},${value}.data);`,
    };
  }
  const clears = state.isGradient && kind === 'constant';
  if (!clears) throw notInModule(state.name, 'another value in the place of a tensor');
  const from = indexAt(place, layout);
  const end = from + sizeOf(layout.shape);
  return { read: '', change: `${viewOf[layout.dtype]}.fill(0,${from},${end});` };
}

const isTensorAt = (source: SavedSource, memory: ModuleMemory): boolean =>
  source.kind === 'state' && 'tensor' in memory.state[source.index]!;
