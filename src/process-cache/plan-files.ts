import { getOrInsert } from '../../runtime/collections/get-or-insert.ts';
import type { DataError } from '../../runtime/errors/errors.ts';
import { printProgram } from '../../runtime/program/print.ts';
import type { Program } from '../../runtime/program/program.ts';
import type { ChoiceStore, CompiledInput } from '../compile/compilation.ts';
import { Choices } from '../programs/choices.ts';
import type { CacheFiles } from './cache-files.ts';
import type { Digest } from './code-print.ts';

/** The choices of planning, in one file per program and version of this package. */
export class PlanFiles implements ChoiceStore {
  readonly #files: CacheFiles;
  readonly #digest: Digest;

  constructor(files: CacheFiles, digest: Digest) {
    this.#files = files;
    this.#digest = digest;
  }

  has(subject: CompiledInput): boolean {
    return this.#files.has(this.#nameOf(subject));
  }

  find(subject: CompiledInput): Choices | undefined {
    const header = this.#files.read(this.#nameOf(subject));
    return header && Choices.known(header.get('choices'));
  }

  keep(subject: CompiledInput, choices: Choices): void {
    this.#files.write(this.#nameOf(subject), { choices });
  }

  refuse(subject: CompiledInput, error: DataError): void {
    this.#files.refuse(this.#nameOf(subject), error);
  }

  #nameOf(subject: CompiledInput): string {
    return `${this.#digest(textOf(subject))}.plan`;
  }
}

const printed = new WeakMap<Program, string>();

/**
 * Returns a text that is equal for programs and options that are compiled identically. A false match would cost time or
 * memory, but not change results.
 */
function textOf({ program, requested, options, donated }: CompiledInput): string {
  const text = getOrInsert(printed, program, () => printProgram(program, { positions: 'none' }));
  const { memory, without, tier, compact, rate } = options;
  const devices = new Set(program.values.map(({ device }) => device));
  const facts = [...devices].map((device) => {
    const { kind, sumsInBlocks, overwritesOperands, fusesPointwise } = device;
    const { innerBytes, mostTileColumns } = device;
    return [kind, sumsInBlocks, overwritesOperands, fusesPointwise, innerBytes, mostTileColumns];
  });
  const { needsGrad, differentiable } = requested;
  const settings = [memory, [...without].sort(), tier, compact, rate];
  return `${JSON.stringify([facts, settings, needsGrad, differentiable, donated])}\n${text}`;
}
