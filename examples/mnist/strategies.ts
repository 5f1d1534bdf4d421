import { refcounted, type Tensor, tidy, toStatic } from '../../src/index.ts';

/** Forward pass and loss of one batch. */
export type LossFunction = (images: Tensor, labels: Tensor) => Tensor;

/** The compiler's predictions, in bytes. */
export interface Promised {
  /** Bytes saved from forward for backward. */
  readonly kept: number;
  /** Peak bytes above those in use when the phase began. */
  readonly forwardPeak: number;
  readonly backwardPeak: number;
}

interface RunnableLoss {
  readonly run: LossFunction;
  /** Compiles everything, with final plans, for batches of this size. */
  readonly warmUp: (images: Tensor, labels: Tensor) => Promise<void>;
  /** Null without predictions. */
  readonly promised: () => Promised | null;
  /** Describes everything that didn't run as planned programs. */
  readonly shortcomings: () => string[];
}

interface Strategy {
  readonly title: string;
  /** Returns the function run with this strategy. */
  readonly prepare: (loss: LossFunction) => RunnableLoss;
}

const unplanned = { warmUp: async () => {}, promised: () => null, shortcomings: () => [] };

/** Three lifetimes for the values of the same function. */
export const strategies = {
  /** Op by op; each value is freed after its last use. */
  refcount: {
    title: 'eager (refcount)',
    prepare: (loss) => ({ run: refcounted(loss), ...unplanned }),
  },
  /** Op by op; all values are freed at the end, as in other JavaScript libraries. */
  tidy: {
    title: 'eager (tidy)',
    prepare: (loss) => ({
      run: (images, labels) => tidy(() => loss(images, labels)),
      ...unplanned,
    }),
  },
  /** As planned programs. */
  static: { title: 'toStatic', prepare: prepareStatic },
} as const satisfies Record<string, Strategy>;

export type StrategyName = keyof typeof strategies;

function prepareStatic(loss: LossFunction): RunnableLoss {
  const run = toStatic(loss);
  return {
    run,
    warmUp: (images, labels) => toStatic.warmup(run, images, labels),
    promised() {
      const planned = run.programs()[0]?.stages?.planned;
      if (!planned?.backward) return null;
      const { savedBytes, outputBytes, peakBytes } = planned.forward.predicted;
      return {
        kept: savedBytes + outputBytes,
        forwardPeak: peakBytes,
        backwardPeak: planned.backward.plan.predicted.peakBytes,
      };
    },
    shortcomings() {
      const { breaks, fallbacks } = run.stats();
      return [
        ...breaks.map(({ detail }) => `graph break: ${detail}`),
        ...fallbacks.map(({ why }) => `ran as ordinary JavaScript: ${why}`),
      ];
    },
  };
}
