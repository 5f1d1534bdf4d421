import type { Attrs } from '../../../kernel-op.ts';
import type { WgslWriter } from '../wgsl-writer.ts';

type Pair = readonly [number, number];

/** The parameters of a convolution's windows. */
interface Windows {
  readonly stride: Pair;
  readonly padding: Pair;
  readonly dilation: Pair;
  readonly groups: number;
}

export const windowsOf = (attrs: Attrs) => attrs as unknown as Windows;

/**
 * The positions that outputs of one phase gather along one dimension. Output i is at `first` + i × `every`. Its
 * product j reads the weight at `tap` + j × `tapStep` and the source at i × `step` + `base` + j × `delta`. Only
 * `base` and `delta` are signed.
 */
export interface GatherTexts {
  readonly outputs: string;
  readonly first: string;
  readonly every: string;
  readonly taps: string;
  readonly tap: string;
  readonly tapStep: string;
  readonly step: string;
  readonly base: string;
  readonly delta: string;
}

/** How outputs find their products along both dimensions: as in a convolution, or as in its input gradient. */
export interface Gather {
  /** The number of phases; outputs of one phase use the same taps. */
  readonly phases: Pair;
  /** Returns the number of outputs along dimension `d` of the largest phase. */
  readonly mostOutputs: (d: 0 | 1) => number;
  /** The maximum number of products of an output. */
  readonly mostTaps: number;
  /** Writes the text that the outputs of phase `phase` share. */
  readonly along: (w: WgslWriter, d: 0 | 1, phase: string) => GatherTexts;
  /** Returns the phase of the output at `at`, and its index within the phase. */
  readonly phaseAt: (w: WgslWriter, d: 0 | 1, at: string) => string;
}

/** Each output uses all taps. */
export function forwardGather(windows: Windows, kernel: Pair, outSize: Pair): Gather {
  const { stride, padding, dilation } = windows;
  return {
    phases: [1, 1],
    mostOutputs: (d) => outSize[d],
    mostTaps: kernel[0] * kernel[1],
    along: (w, d) => ({
      outputs: w.count(`outSize${d}`, outSize[d]),
      first: '0u',
      every: '1u',
      taps: w.count(`kernel${d}`, kernel[d]),
      tap: '0u',
      tapStep: '1u',
      step: w.count(`stride${d}`, stride[d]),
      base: w.let(`-i32(${w.count(`padding${d}`, padding[d])})`),
      delta: w.let(`i32(${w.count(`dilation${d}`, dilation[d])})`),
    }),
    phaseAt: () => '0u',
  };
}

/**
 * Each output uses the taps whose windows start at a multiple of the stride: the first one of its phase, and every
 * `stride` / gcd(stride, dilation)th after it.
 */
export function gradientGather(windows: Windows, kernel: Pair, outSize: Pair): Gather {
  const { stride, padding, dilation } = windows;
  const commonOf = (d: 0 | 1) => greatestCommonDivisor(stride[d], dilation[d]);
  const mostTaps = ([0, 1] as const).map((d) => Math.ceil((kernel[d] * commonOf(d)) / stride[d]));
  const phase = (w: WgslWriter, d: 0 | 1, at: string) =>
    w.let(`(${at} + ${w.count(`padding${d}`, padding[d])}) % ${w.count(`stride${d}`, stride[d])}`);
  return {
    phases: stride,
    mostOutputs: (d) => Math.ceil(outSize[d] / stride[d]),
    mostTaps: mostTaps[0]! * mostTaps[1]!,
    phaseAt: phase,
    along: (w, d, own) => {
      const common = commonOf(d);
      const every = w.count(`stride${d}`, stride[d]);
      const pad = w.count(`padding${d}`, padding[d]);
      const size = w.count(`outSize${d}`, outSize[d]);
      const dilated = w.count(`dilation${d}`, dilation[d]);
      const taps = w.count(`kernel${d}`, kernel[d]);
      const tapStep = w.count(`tapStep${d}`, stride[d] / common);
      const first = w.let(`(${own} + ${every} - ${pad} % ${every}) % ${every}`);
      const tap = w.name();
      w.line(
        `var ${tap} = 0u;`,
        `while (${tap} < ${tapStep} && (${tap} * ${dilated}) % ${every} != ${own}) { ${tap} = ${tap} + 1u; }`,
      );
      const isMet = `${tap} < min(${tapStep}, ${taps})`;
      return {
        outputs: w.let(
          `select(0u, (${size} - ${first} + ${every} - 1u) / ${every}, ${first} < ${size})`,
        ),
        first,
        every,
        taps: w.let(`select(0u, (${taps} - ${tap} + ${tapStep} - 1u) / ${tapStep}, ${isMet})`),
        tap,
        tapStep,
        step: '1u',
        base: w.let(`(i32(${first} + ${pad}) - i32(${tap} * ${dilated})) / i32(${every})`),
        delta: w.let(`-i32(${w.count(`tapBack${d}`, dilation[d] / common)})`),
      };
    },
  };
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
