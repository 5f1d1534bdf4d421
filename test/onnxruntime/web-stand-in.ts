/** An engine with the interface of onnxruntime-web that runs models by our own importer. */

import type { OrtTensor } from '../../src/onnxruntime/arrays.ts';
import type { OnnxruntimeWeb, OrtWebSession } from '../../src/onnxruntime/web.ts';
import { standIn } from './stand-in.ts';

export const task = () => new Promise((resolve) => setTimeout(resolve));

/** Answers in a later task; `beforeRun` is called before each run. */
export const standInFor = (beforeRun: () => void = () => {}): OnnxruntimeWeb => ({
  Tensor: standIn.tensor,
  InferenceSession: {
    async create(model): Promise<OrtWebSession> {
      const session = new standIn.session();
      await task();
      session.loadModel(model.buffer, model.byteOffset, model.byteLength, {});
      return {
        async run(feeds, fetches = {}) {
          await task();
          beforeRun();
          return session.run(feeds as never, fetches as never, {}) as object;
        },
        async release() {
          session.dispose();
        },
      };
    },
  },
});

type Locations = Readonly<Record<string, 'cpu' | 'gpu-buffer'>>;

class GpuBuffer {
  elements: Float32Array | null;

  constructor(elements: Float32Array) {
    this.elements = elements;
  }
}

/** A GPU beside the stand-in: what is read and written there, and how many buffers there are. */
export class StandInGpu {
  /** Buffers that have not been disposed of. */
  readonly live = new Set<GpuBuffer>();
  downloads = 0;
  /** Operands that came from memory of JavaScript in the runs so far, in elements. */
  uploads: number[] = [];

  readonly ort: OnnxruntimeWeb;

  constructor() {
    const gpu = this;
    class GpuTensor {
      readonly location = 'gpu-buffer';
      readonly gpuBuffer: GpuBuffer;
      readonly type: string;
      readonly dims: readonly number[];

      constructor(gpuBuffer: GpuBuffer, type: string, dims: readonly number[]) {
        [this.gpuBuffer, this.type, this.dims] = [gpuBuffer, type, dims];
      }

      get data(): never {
        throw new Error('The data is not on CPU.');
      }

      async getData() {
        await task();
        gpu.downloads++;
        return this.gpuBuffer.elements!.slice();
      }

      dispose(): void {
        gpu.live.delete(this.gpuBuffer);
        this.gpuBuffer.elements = null;
      }
    }
    class Tensor extends standIn.tensor {
      static override fromGpuBuffer(
        buffer: GpuBuffer,
        { dataType, dims }: { dataType: string; dims: number[] },
      ) {
        return new GpuTensor(buffer, dataType, dims);
      }
    }
    const there = (each: OrtTensor): OrtTensor => {
      if (!(each instanceof GpuTensor)) {
        gpu.uploads.push((each.data as Float32Array).length);
        return each;
      }
      const { elements } = each.gpuBuffer;
      if (!elements) throw new Error('a buffer that was disposed of');
      return new standIn.tensor(each.type, elements, each.dims);
    };
    const resultAt = (location: string, result: OrtTensor): unknown => {
      if (location === 'cpu') return result;
      const { type, data, dims } = result as OrtTensor & { type: string; dims: readonly number[] };
      const buffer = new GpuBuffer(data as Float32Array);
      gpu.live.add(buffer);
      return new GpuTensor(buffer, type, dims);
    };
    const mapped = <T, R>(of: Readonly<Record<string, T>>, to: (value: T, name: string) => R) =>
      Object.fromEntries(Object.entries(of).map(([name, value]) => [name, to(value, name)]));
    this.ort = {
      Tensor,
      InferenceSession: {
        async create(model, options) {
          const session = await standInFor().InferenceSession.create(model);
          const { preferredOutputLocation: at = {} } = options as {
            preferredOutputLocation?: Locations;
          };
          return {
            ...session,
            async run(feeds) {
              const given = mapped(feeds as Record<string, OrtTensor>, there);
              const results = (await session.run(given)) as Record<string, OrtTensor>;
              return mapped(results, (each, name) => resultAt(at[name] ?? 'cpu', each));
            },
          };
        },
      },
    };
  }
}
