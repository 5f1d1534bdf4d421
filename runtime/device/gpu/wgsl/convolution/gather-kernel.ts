import { sizeOf } from '../../../../spec/shape.ts';
import type { Attrs } from '../../../kernel-op.ts';
import type { TensorMeta } from '../../../tensor-meta.ts';
import { headOperands, headText, storedHead } from '../head-text.ts';
import { splitText } from '../index-text.ts';
import { chosenByExponents, exponentNames } from '../pointwise-kernel.ts';
import {
  type ProductTexts,
  type Tile,
  threadsOf,
  tileFor,
  tilesOf,
  tileText,
  withRoom,
} from '../product-tiles.ts';
import type { HeadBody } from '../staged-body.ts';
import type { WgslPlan, WgslStage } from '../wgsl-plan.ts';
import { groupsOf, workgroupThreads } from '../wgsl-text.ts';
import { WgslWriter } from '../wgsl-writer.ts';
import { pixelText } from './pixel-text.ts';
import {
  forwardGather,
  type Gather,
  type GatherTexts,
  gradientGather,
  windowsOf,
} from './windows.ts';

type Size = readonly [number, number, number, number];

/** Ops whose outputs gather products of a source, their first operand, with weights, their second. */
export type GatherOp = 'conv2d' | 'conv2dInputGrad' | 'convTranspose2d';

/** A convolution's sizes, with its weights as one matrix per group. */
interface GatherConvolution {
  readonly gather: Gather;
  readonly source: TensorMeta;
  readonly groups: number;
  /** The number of channels per group, of the outputs and of the source. */
  readonly outChannels: number;
  readonly sourceChannels: number;
  /** Weight strides: between groups, between channels of the outputs and of the source, and along the taps. */
  readonly weightStrides: {
    readonly group: number;
    readonly out: number;
    readonly source: number;
    readonly taps: readonly [number, number];
  };
}

/** Returns the plan of a convolution, or its input gradient, without a body. */
export function gatherPlan(name: GatherOp) {
  return (inputs: readonly TensorMeta[], outputs: readonly TensorMeta[], attrs: Attrs): WgslPlan =>
    headedGather(name, attrs, storedHead([...inputs.keys()], inputs, outputs[0]!), inputs, outputs);
}

/**
 * Returns a convolution and the pointwise ops on its elements as one dispatch. Each group is a product of its weights
 * with the pixels they cover, gathered when a tile is loaded; with few channels or pixels, a thread sums one output.
 * `own` are the convolution's attributes.
 */
export function headedGather(
  name: GatherOp,
  own: Attrs,
  head: HeadBody,
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
): WgslPlan {
  const [source, weight] = head.reads.map((index) => inputs[index]!);
  const shape = head.body.shape as Size;
  const conv = convolutionOf(name, own, source!, weight!, shape);
  const { gather, groups, outChannels } = conv;
  const phases = gather.phases[0] * gather.phases[1];
  const columns = shape[0] * gather.mostOutputs(0) * gather.mostOutputs(1);
  const slicesAll = groups * phases;
  const tile = withRoom(
    tileFor(outChannels, conv.sourceChannels * gather.mostTaps, columns, slicesAll),
  );
  const { operands, strides } = headOperands(head, [0, 1], inputs, outputs);
  const stage: WgslStage = {
    operands,
    isEmpty: sizeOf(shape) === 0,
    chosenBy: chosenByExponents(exponentNames(head.body, head.attr)),
    write: (issue) => {
      const threads = tile ? threadsOf(tile) : workgroupThreads;
      const w = new WgslWriter(threads, issue);
      const [from, by] = head.reads as readonly [number, number];
      const texts: GatherBuffers = {
        source: w.offset(from),
        weight: (index) => w.load(by, index),
        weights: w.offset(by),
        element: (index) => w.load(from, index),
      };
      w.function('finish(n : u32, c : u32, h : u32, v : u32, value : f32)', () => {
        headText(w, head, inputs, issue.attrs, 'value', (i) => {
          const terms = ['n', 'c', 'h', 'v'].flatMap((coordinate, d) => {
            const stride = strides[i]![d]!;
            if (stride === 0) return [];
            return stride === 1
              ? [coordinate]
              : [`${coordinate} * ${w.count(`own${i}_${d}`, stride)}`];
          });
          return [w.offset(i), ...terms].join(' + ');
        });
      });
      if (!tile) {
        directText(w, conv, shape, texts);
        const groups = groupsOf(Math.ceil(sizeOf(shape) / workgroupThreads));
        return { text: w.text(), uniforms: w.uniforms, groups };
      }
      pixelText(w, conv.source, from);
      const slices = w.count('slices', slicesAll);
      w.line(`for (var z = at.z; z < ${slices}; z = z + count.z) {`);
      tileText(w, tile, productTexts(w, tile, conv, shape, texts));
      w.line('}');
      const tiles = tilesOf(tile, outChannels, columns);
      const groups = groupsOf(tiles, Math.min(slicesAll, mostSlices));
      return { text: w.text(), uniforms: w.uniforms, groups };
    },
  };
  return { scratch: [], stages: [stage] };
}

/** The locations of the products' operands in their buffers. */
interface GatherBuffers {
  /** The first element of the source. */
  readonly source: string;
  /** The first element of the weights. */
  readonly weights: string;
  readonly weight: (index: string) => string;
  readonly element: (index: string) => string;
}

function convolutionOf(
  name: GatherOp,
  attrs: Attrs,
  source: TensorMeta,
  weight: TensorMeta,
  [, outAll, height, width]: Size,
): GatherConvolution {
  const windows = windowsOf(attrs);
  const { groups } = windows;
  const [, , ...kernel] = weight.shape as Size;
  const [first, second, ...taps] = weight.strides as Size;
  const isForward = name === 'conv2d';
  const outChannels = outAll / groups;
  const sourceChannels = source.shape[1]! / groups;
  return {
    gather: (isForward ? forwardGather : gradientGather)(windows, kernel, [height, width]),
    source,
    groups,
    outChannels,
    sourceChannels,
    weightStrides: {
      // The weights' first dimension contains the channels of all groups.
      group: first * (isForward ? outChannels : sourceChannels),
      out: isForward ? first : second,
      source: isForward ? second : first,
      taps,
    },
  };
}

/** Slice z is one phase of one group: output channels by pixels, summed over source channels and taps. */
function productTexts(
  w: WgslWriter,
  { depth }: Tile,
  conv: GatherConvolution,
  [batch]: Size,
  buffers: GatherBuffers,
): ProductTexts {
  const { gather, source, weightStrides } = conv;
  const [planes, phase1] = splitText(w, 'z', w.count('phases1', gather.phases[1]));
  const [group, phase0] = splitText(w, planes, w.count('phases0', gather.phases[0]));
  const along = [gather.along(w, 0, phase0), gather.along(w, 1, phase1)] as const;
  const [rows, columns] = along;
  const outChannels = w.count('outChannels', conv.outChannels);
  const sourceChannels = w.count('sourceChannels', conv.sourceChannels);
  const taps = w.let(`${rows.taps} * ${columns.taps}`);
  const firstWeight = w.let(
    `${buffers.weights} + ${group} * ${w.count('weightGroup', weightStrides.group)}`,
  );
  const firstChannel = w.let(
    `${buffers.source} + ${group} * ${sourceChannels} * ${w.count('source1', source.strides[1]!)}`,
  );
  const pixelOf = (column: string) => {
    const [lines, j] = splitText(w, column, columns.outputs);
    const [n, i] = splitText(w, lines, rows.outputs);
    return { n, i, j };
  };
  w.shared('stepWeight', `array<u32, ${depth}>`);
  w.shared('stepPlane', `array<u32, ${depth}>`);
  w.shared('stepAt', `array<vec2<i32>, ${depth}>`);
  return {
    m: outChannels,
    n: w.let(`${w.count('batch', batch)} * ${rows.outputs} * ${columns.outputs}`),
    k: w.let(`${sourceChannels} * ${taps}`),
    prepare: (k, slot) => {
      const [c, tap] = splitText(w, `(${k})`, taps);
      const [kh, kw] = splitText(w, tap, columns.taps);
      w.line(
        `stepWeight[${slot}] = ${c} * ${w.count('weightSource', weightStrides.source)} + ${tapIndex(w, conv, along, kh, kw)};`,
        `stepPlane[${slot}] = ${c} * ${w.count('source1', source.strides[1]!)};`,
        `stepAt[${slot}] = vec2<i32>(i32(${kh}) * ${rows.delta}, i32(${kw}) * ${columns.delta});`,
      );
    },
    left: {
      isAlongSteps: true,
      at: (row) => (_k, slot) =>
        buffers.weight(
          `${firstWeight} + (${row}) * ${w.count('weightOut', weightStrides.out)} + stepWeight[${slot}]`,
        ),
    },
    right: {
      isAlongSteps: false,
      at: (column) => {
        const { n, i, j } = pixelOf(column);
        const start = w.let(`${firstChannel} + ${n} * ${w.count('source0', source.strides[0]!)}`);
        const h = startText(w, rows, i);
        const v = startText(w, columns, j);
        return (_k, slot) =>
          `pixel(${start} + stepPlane[${slot}], ${h} + stepAt[${slot}].x, ${v} + stepAt[${slot}].y)`;
      },
    },
    store: (column) => {
      const { n, i, j } = pixelOf(column);
      const h = w.let(`${rows.first} + ${i} * ${rows.every}`);
      const v = w.let(`${columns.first} + ${j} * ${columns.every}`);
      return (row, value) =>
        `finish(${n}, ${group} * ${outChannels} + ${row}, ${h}, ${v}, ${value});`;
    },
  };
}

/** Writes where the first product of output `number` reads the source. */
function startText(w: WgslWriter, { step, base }: GatherTexts, number: string): string {
  return w.let(`i32(${number} * ${step}) + ${base}`);
}

/** Returns the weight's index for a tap, relative to the first tap. */
function tapIndex(
  w: WgslWriter,
  { weightStrides }: GatherConvolution,
  along: readonly [GatherTexts, GatherTexts],
  kh: string,
  kw: string,
): string {
  const taps = [kh, kw].map((each, d) => {
    const { tap, tapStep } = along[d]!;
    return `(${tap} + ${each} * ${tapStep}) * ${w.count(`weightTap${d}`, weightStrides.taps[d]!)}`;
  });
  return taps.join(' + ');
}

/** Writes one thread per output with its own loop over products, for few channels, as in depthwise convolutions. */
function directText(
  w: WgslWriter,
  conv: GatherConvolution,
  shape: Size,
  buffers: GatherBuffers,
): void {
  const { gather, source, weightStrides } = conv;
  const e = w.let(`group * ${workgroupThreads}u + thread`);
  w.line(`if (${e} < ${w.count('elements', sizeOf(shape))}) {`);
  const [lines, v] = splitText(w, e, w.count('outSize1', shape[3]));
  const [planes, h] = splitText(w, lines, w.count('outSize0', shape[2]));
  const [n, c] = splitText(w, planes, w.count('channels', shape[1]));
  const [group, inGroup] = splitText(w, c, w.count('outChannels', conv.outChannels));
  const sourceChannels = w.count('sourceChannels', conv.sourceChannels);
  const along = ([0, 1] as const).map((d) =>
    gather.along(w, d, gather.phaseAt(w, d, d === 0 ? h : v)),
  ) as [GatherTexts, GatherTexts];
  const starts = along.map((texts, d) =>
    startText(w, texts, `((${d === 0 ? h : v} - ${texts.first}) / ${texts.every})`),
  );
  const plane = w.count('source1', source.strides[1]!);
  const firstPixel = w.let(
    `${buffers.source} + ${n} * ${w.count('source0', source.strides[0]!)} + ${group} * ${sourceChannels} * ${plane}`,
  );
  const firstWeight = w.let(
    `${buffers.weights} + ${group} * ${w.count('weightGroup', weightStrides.group)} + ${inGroup} * ${w.count('weightOut', weightStrides.out)}`,
  );
  const [height, width] = [w.count('height', source.shape[2]!), w.count('width', source.shape[3]!)];
  const [channels, nextPlane] = [w.let(sourceChannels), w.let(plane)];
  const nextWeight = w.let(w.count('weightSource', weightStrides.source));
  w.line('var sum = 0.0f;');
  const [atH, atV] = ['y', 'x'].map((tap, d) => {
    const { taps, delta } = along[d]!;
    w.line(`for (var ${tap} = 0u; ${tap} < ${taps}; ${tap} = ${tap} + 1u) {`);
    return w.let(`${starts[d]!} + i32(${tap}) * ${delta}`);
  }) as [string, string];
  const line = `u32(${atH}) * ${w.count('source2', source.strides[2]!)}`;
  const pixel = w.let(
    `${firstPixel} + ${line} + u32(${atV}) * ${w.count('source3', source.strides[3]!)}`,
  );
  const weight = w.let(`${firstWeight} + ${tapIndex(w, conv, along, 'y', 'x')}`);
  w.line(`var pixelAt = ${pixel};`, `var weightAt = ${weight};`);
  /** Writes one product per channel; depthwise convolutions have one. */
  const products = (element: string) => {
    const product = `sum = sum + ${element} * ${buffers.weight('weightAt')};`;
    if (conv.sourceChannels === 1) w.line(product);
    else {
      w.line(
        `for (var k = 0u; k < ${channels}; k = k + 1u) {`,
        product,
        `pixelAt = pixelAt + ${nextPlane};`,
        `weightAt = weightAt + ${nextWeight};`,
        '}',
      );
    }
  };
  w.line(`if (${atH} >= 0 && ${atV} >= 0 && ${atH} < i32(${height}) && ${atV} < i32(${width})) {`);
  products(buffers.element('pixelAt'));
  // Padding is multiplied, too, as in tiles, so that a non-finite weight yields NaN.
  w.line('} else {');
  products(w.uniform('zero', { kind: 'number', value: 0 }));
  w.line('}', '}', '}', `finish(${n}, ${c}, ${h}, ${v}, sum);`, '}');
}

/** The maximum number of workgroups along z; more slices take several iterations. */
const mostSlices = 65535;
