/**
 * Our whole interface to gpu.js over WebGL2, version 2.24.1 exactly. gpu.js only translates: its own kernels copy
 * arguments, own results, and draw into a canvas as large as the largest result.
 */
import { invariant } from '../../../errors/invariant.ts';
import type { KernelText } from '../core/kernel-text.ts';
import type { GlContext } from './context.ts';
import { fragmentText } from './fragment-text.ts';

interface GlslKernel {
  threadDim: readonly number[];
  validateSettings(args: readonly unknown[]): void;
  setupConstants(args: readonly unknown[]): void;
  setupArguments(args: readonly unknown[]): void;
  translateSource(): void;
  pickRenderStrategy(args: readonly unknown[]): unknown;
  getFragmentShader(args: readonly unknown[]): string;
}

interface GpuJs {
  readonly GPU: new (settings: {
    mode: 'webgl2';
    canvas: unknown;
    context: WebGL2RenderingContext;
  }) => {
    createKernel(source: string, settings: object): { readonly kernel: GlslKernel };
    destroy(): Promise<void>;
  };
  readonly WebGL2Kernel: new (...args: never[]) => GlslKernel;
}

/** gpu.js infers argument types from a first call. */
const sampleArray = {
  type: 'ArrayTexture(1)',
  size: [1, 1],
  dimensions: [1, 1, 1],
  output: [1],
  texture: null,
};
const sampleNumber = 0.5;

export class GpuJsTranslator {
  readonly #gpujs: GpuJs;
  readonly #gpu: InstanceType<GpuJs['GPU']>;

  private constructor(gpujs: GpuJs, { gl, canvas }: GlContext) {
    this.#gpujs = gpujs;
    this.#gpu = new gpujs.GPU({ mode: 'webgl2', canvas, context: gl });
  }

  static async open(context: GlContext): Promise<GpuJsTranslator> {
    const loaded = (await import('gpu.js')) as unknown as { default?: GpuJs } & GpuJs;
    return new GpuJsTranslator(loaded.default ?? loaded, context);
  }

  /** Returns a kernel's fragment shader. Throws if gpu.js can't translate it. */
  translate(text: KernelText): string {
    const { kernel } = this.#gpu.createKernel(text.source, {
      output: [text.threads],
      precision: 'single',
      pipeline: true,
      immutable: false,
      validate: false,
      // By default it silently ends every loop without a literal bound after 1000 iterations.
      loopMaxIterations: 1 << 24,
      tactic: 'precision',
    });
    invariant(
      kernel instanceof this.#gpujs.WebGL2Kernel,
      `gpu.js made a ${kernel.constructor.name} instead of a WebGL2 kernel`,
    );
    const args = [
      ...Array(text.arrays).fill(sampleArray),
      ...Array(text.scalars).fill(sampleNumber),
    ];
    // The first half of its `build`; the second half creates GL objects.
    kernel.validateSettings(args);
    kernel.setupConstants(args);
    kernel.setupArguments(args);
    kernel.threadDim = [text.threads, 1, 1];
    kernel.translateSource();
    kernel.pickRenderStrategy(args);
    return fragmentText(kernel.getFragmentShader(args), text);
  }

  async destroy(): Promise<void> {
    await this.#gpu.destroy();
  }
}
