import { threadBytes } from '../../../runtime/device/cpu/core/heap.ts';
import { ArgumentError } from '../../../runtime/errors/errors.ts';
import { numerics } from '../../../runtime/numerics/math.ts';
import type { PlannedSubgraph } from '../../../runtime/program/plan.ts';
import { loadProgram } from '../../../runtime/save/load.ts';
import { type ProgramParts, programParts } from '../../../runtime/save/loaded-program.ts';
import type { SavedEntry } from '../../../runtime/save/saved-entry.ts';
import { packageVersion } from '../../options/package-version.ts';
import type { Action, RecordedKernel } from './actions/actions.ts';
import { mergeCode } from './code/merge-code.ts';
import { declarationsText } from './emit/declarations.ts';
import { moduleText } from './emit/module-text.ts';
import { planText } from './emit/plan-text.ts';
import type { StatementNames } from './emit/statements.ts';
import { compilePlan } from './plan/compile-plan.ts';
import { ModuleMemory, pagesFor } from './plan/module-memory.ts';
import type { KernelChoice } from './recording/recorded-heap.ts';
import { notInModule } from './recording/recording-device.ts';

/** A program and its plan. */
interface PlannedEntry {
  readonly saved: SavedEntry;
  readonly planned: PlannedSubgraph;
}

/** Bytes of a module's memory. */
export interface ModuleBytes {
  /** The peak of the largest plan: memory that a run allocates and frees. */
  readonly planned: number;
  /** The size of the block that contains it. */
  readonly arena: number;
  readonly state: number;
  readonly arguments: number;
  /** Memory that the kernels themselves use. */
  readonly scratch: number;
  /** The total, in whole WebAssembly pages. */
  readonly total: number;
}

interface ModuleExport {
  readonly code: string;
  readonly declarations: string;
  readonly weights: Uint8Array | null;
  readonly memory: ModuleBytes;
}

interface WrittenModule {
  readonly text: string;
  readonly declarations: string;
  readonly memory: ModuleMemory;
  readonly bytes: ModuleBytes;
  /** The number of kernels that a run of each plan launches. */
  readonly launches: readonly number[];
  readonly statements: readonly number[];
}

/** Exports a program of a saved file: the one at `index`, all programs, or the last one. */
export async function moduleOf(
  file: Uint8Array,
  index: number | 'all' | undefined,
  choice: ModuleChoice,
): Promise<ModuleExport> {
  const loaded = await loadProgram(file, { device: 'cpu' });
  try {
    const parts = programParts(loaded)!;
    const { text, bytes, memory, declarations } = writeModule(parts, chosen(parts, index), choice);
    const weights = choice.data === null ? null : memory.stateBytes;
    return { code: text, declarations, weights, memory: bytes };
  } finally {
    loaded.dispose();
  }
}

function chosen({ entries }: ProgramParts, index: number | 'all' | undefined): PlannedEntry[] {
  const all = entries.flatMap(({ saved, planned }) => (planned ? [{ saved, planned }] : []));
  if (all.length === 0) throw noSuchProgram('a function without a program', 'one that computes');
  if (index === 'all') return all;
  const one = all.at(index ?? -1);
  if (!one) throw noSuchProgram(`program ${index}`, `0 to ${all.length - 1}`);
  return [one];
}

interface ModuleChoice extends KernelChoice {
  /** The separate file with the state; null if the module contains it. */
  readonly data: string | null;
}

export function writeModule(
  { name, state }: Pick<ProgramParts, 'name' | 'state'>,
  entries: readonly PlannedEntry[],
  choice: ModuleChoice,
): WrittenModule {
  if (numerics() !== 'default') throw notInModule('a program', 'portable numerics');
  const programs = entries.map(({ saved, planned: { forward, values } }) => {
    return { saved, inputs: forward.inputs.map((id) => values[id]!) };
  });
  // A module has one thread, whose scratch memory precedes the tensors.
  const memory = new ModuleMemory(threadBytes, state.entries(), programs);
  const plans = entries.map(({ saved, planned }, i) => {
    const inputs = saved.inputs.map(({ place }) => memory.placeOf(i, place));
    return compilePlan(planned, inputs, memory.arenaAt, choice);
  });
  const arena = Math.max(0, ...plans.map(({ arenaBytes }) => arenaBytes));
  const used = plans.map(({ arenaBytes, besideBytes }) => arenaBytes + besideBytes);
  const end = memory.arenaAt + Math.max(0, ...used);
  const actions = plans.flatMap(({ actions }) => actions.actions);
  const total = pagesFor(end);
  const code = mergeCode(new Set(actions.flatMap(kernelsOf)), total);
  const names = new Names((kernel) => code.exportOf(kernel));
  const texts = plans.map((plan, i) => planText(i, programs[i]!, plan, memory, names));
  const bytes: ModuleBytes = {
    planned: Math.max(0, ...plans.map(({ plannedBytes }) => plannedBytes)),
    arena,
    state: memory.stateBytes.length,
    arguments: memory.argumentBytes,
    scratch: total * 65536 - memory.stateBytes.length - memory.argumentBytes - arena,
    total: total * 65536,
  };
  const text = moduleText({
    title: `${name || 'a function'}, compiled by tostatic ${packageVersion}`,
    memory,
    bytes: { ...bytes },
    pages: total,
    code,
    kernels: [...names.kernels],
    tables: [...names.tables.values()],
    plans: texts.map((each) => each.text),
    hosts: new Set(actions.flatMap((action) => (action.kind === 'host' ? [action.name] : []))),
    data: choice.data,
  });
  return {
    text,
    declarations: declarationsText(entries),
    memory,
    bytes,
    launches: texts.map(({ launches }) => launches),
    statements: texts.map(({ statements }) => statements),
  };
}

/** The variables of kernels and tables, in order of first use. */
class Names implements StatementNames {
  readonly kernels = new Set<string>();
  readonly tables = new Map<string, string>();
  readonly #exportOf: (kernel: RecordedKernel) => string;
  readonly #known = new Map<Uint8Array, Map<string, string>>();

  constructor(exportOf: (kernel: RecordedKernel) => string) {
    this.#exportOf = exportOf;
  }

  kernel(kernel: RecordedKernel): string {
    const names = this.#known.get(kernel.code) ?? new Map<string, string>();
    this.#known.set(kernel.code, names);
    let name = names.get(kernel.name);
    if (name === undefined) {
      name = this.#exportOf(kernel);
      names.set(kernel.name, name);
      this.kernels.add(name);
    }
    return `k${name}`;
  }

  table(_view: string, values: readonly number[]): string {
    const key = values.map((value) => (Object.is(value, -0) ? '-0' : String(value))).join();
    const name = `t${this.tables.has(key) ? [...this.tables.keys()].indexOf(key) : this.tables.size}`;
    this.tables.set(key, `  const ${name} = [${key}];`);
    return name;
  }
}

const kernelsOf = (action: Action): readonly RecordedKernel[] => {
  if (action.kind === 'call') return [action.kernel];
  return action.kind === 'host' ? action.kernels : [];
};

function noSuchProgram(given: string, expected: string): ArgumentError {
  return new ArgumentError({
    what: 'exportModule: nothing to export',
    given,
    expected,
    remedy: 'call the function with the arguments that the module is for, then export it',
  });
}
