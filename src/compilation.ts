import { spans } from '../runtime/profiler/spans.ts';
import type { Pass, PassContext, Staged } from './5-optimize/pass.ts';
import { runPasses } from './5-optimize/run-passes.ts';
import { type MemoryOptions, memoryOptions } from './programs/memory-options.ts';
import {
  countPasses,
  type PassCounts,
  type PassRecord,
  passObservers,
} from './programs/pass-record.ts';

/** How a traced program is compiled. */
export interface CompileOptions {
  readonly memory: MemoryOptions;
  /** Names of the passes that are switched off. */
  readonly without: ReadonlySet<Pass['name']>;
  /** The program is verified after each pass, too, not only after each phase. */
  readonly verify: boolean;
}

export const defaultCompileOptions: CompileOptions = {
  memory: memoryOptions(),
  without: new Set(),
  verify: false,
};

/** One run of the pipeline: its options, and a record of the passes that ran in it. */
export class Compilation {
  readonly options: CompileOptions;
  readonly #counted: Pick<PassRecord, 'pass' | 'applied'>[] = [];

  constructor(options: CompileOptions) {
    this.options = options;
  }

  get memory(): MemoryOptions {
    return this.options.memory;
  }

  get passes(): PassCounts {
    return countPasses(this.#counted);
  }

  /** A named phase; the profiler shows it as a span. */
  phase<T>(name: string, body: () => T): T {
    if (!spans.active) return body();
    return spans.around({ kind: 'compile', name, device: 'host' }, body);
  }

  /** Phase 5: the passes of one stage. */
  optimize(given: Staged, context: PassContext): Staged {
    const { without, verify } = this.options;
    const record = ({ pass, applied, ...rest }: PassRecord) => {
      this.#counted.push({ pass, applied });
      passObservers.tell({ pass, applied, ...rest });
    };
    return this.phase('optimize', () => runPasses(given, context, { without, verify, record }));
  }
}
