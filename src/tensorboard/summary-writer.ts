import { ArgumentError, DataError } from '../../runtime/errors/errors.ts';
import { expectArguments } from '../../runtime/options/expect-options.ts';
import {
  anyInteger,
  anyOperand,
  aTensor,
  either,
  text,
  that,
} from '../../runtime/options/option-kinds.ts';
import { Tensor } from '../../runtime/tensor/tensor.ts';
import type { CompiledPart } from '../programs/compiled-part.ts';
import { encodeMessage } from '../protobuf/message.ts';
import { histogramOf } from './histogram.ts';
import { encodePng } from './png.ts';
import { programGraph } from './program-graph.ts';
import { recordOf } from './records.ts';
import { type Event, eventSchema, graphSchema, type SummaryValue } from './schema.ts';

/** A captured function, as returned by `toStatic`. */
interface Compiled {
  programs(): readonly CompiledPart[];
}

const places = { tag: text, step: anyInteger };

const compiledKinds = {
  fn: that(
    'what toStatic returned',
    (value) => value != null && typeof (value as Partial<Compiled>).programs === 'function',
  ),
};

/**
 * Writes an event file for TensorBoard, with PyTorch's names: scalars, histograms and images by tag and step, and
 * the graph of a captured function. Node only. Each call appends whole records, so the file stays readable if the
 * process is killed.
 */
export class SummaryWriter {
  /** The path of the file, in the run's folder. */
  readonly path: string;

  /** @param folder of the run; created if it doesn't exist. */
  constructor(folder: string) {
    const { mkdirSync } = files();
    expectArguments('SummaryWriter', { folder }, { folder: text });
    try {
      mkdirSync(folder, { recursive: true });
    } catch (cause) {
      throw noFolder(folder, cause);
    }
    const seconds = String(Math.floor(Date.now() / 1000)).padStart(10, '0');
    const suffix = `${process.pid}.${SummaryWriter.#count++}`;
    this.path = `${folder}/events.out.tfevents.${seconds}.tostatic.${suffix}`;
    this.#append({ wallTime: Date.now() / 1000, fileVersion: 'brain.Event:2' });
  }

  static #count = 0;

  /** Adds a number, or a tensor of one element, whose value is read. */
  async addScalar(tag: string, value: number | Tensor, step: number): Promise<void> {
    expectArguments(
      'addScalar',
      { tag, value, step },
      { ...places, value: either(anyOperand, aTensor) },
    );
    const simpleValue = value instanceof Tensor ? Number(await value.item()) : value;
    this.#add(step, { tag, simpleValue });
  }

  /** Adds the distribution of a tensor's elements. */
  async addHistogram(tag: string, values: Tensor, step: number): Promise<void> {
    expectArguments('addHistogram', { tag, values, step }, { ...places, values: aTensor });
    const numbers = (await values.to('float64').data()) as Float64Array;
    this.#add(step, { tag, histogram: histogramOf(numbers) });
  }

  /** Adds an image [channels, height, width] of 1, 3 or 4 channels: floats from 0 to 1, or uint8. */
  async addImage(tag: string, image: Tensor, step: number): Promise<void> {
    expectArguments('addImage', { tag, image, step }, { ...places, image: aTensor });
    const [channels = 0, height = 0, width = 0] = image.shape;
    if (image.rank !== 3 || ![1, 3, 4].includes(channels)) throw noImage(image);
    const isBytes = image.dtype === 'uint8';
    const scaled = isBytes ? image : image.to('float32').clamp(0, 1).mul(255).round();
    const pixels = Uint8Array.from(
      (await scaled.permute([1, 2, 0]).contiguous().data()) as ArrayLike<number>,
    );
    const encoded = encodePng(pixels, width, height, channels);
    this.#add(step, { tag, image: { height, width, colorspace: channels, encoded } });
  }

  /** Adds the programs that a captured function has compiled so far; it must have been called. */
  async addGraph(fn: Compiled): Promise<void> {
    expectArguments('addGraph', { fn }, compiledKinds);
    const parts = fn.programs();
    if (parts.length === 0) throw noGraph();
    const graph = encodeMessage(graphSchema, programGraph(parts));
    this.#append({ wallTime: Date.now() / 1000, graphDef: graph });
  }

  #add(step: number, value: SummaryValue): void {
    this.#append({ wallTime: Date.now() / 1000, step, summary: { value: [value] } });
  }

  #append(event: Event): void {
    files().appendFileSync(this.path, recordOf(encodeMessage(eventSchema, event)));
  }
}

function files(): typeof import('node:fs') {
  const fs = globalThis.process?.getBuiltinModule?.('node:fs');
  if (fs) return fs;
  throw new ArgumentError({
    what: 'SummaryWriter: no file system here',
    given: 'a page',
    expected: 'Node',
    remedy: 'use plotPage() in pages',
  });
}

function noFolder(folder: string, cause: unknown): DataError {
  return new DataError({
    what: 'SummaryWriter: the folder cannot be made',
    given: `${folder}: ${(cause as Error).message}`,
    expected: 'a folder, or the path of a new one with write permission',
    remedy: 'name another folder',
    cause,
  });
}

function noGraph(): ArgumentError {
  return new ArgumentError({
    what: 'addGraph: the function has compiled nothing yet',
    given: 'a captured function that was not called',
    expected: 'one with a compiled program',
    remedy: 'call it with a batch first',
  });
}

function noImage({ shape }: Tensor): ArgumentError {
  return new ArgumentError({
    what: 'addImage: not an image',
    given: `shape [${shape.join(', ')}]`,
    expected: '[channels, height, width] with 1, 3 or 4 channels',
    remedy: 'permute the dimensions, or select one image of the batch',
  });
}
