/** An engine with the interface of onnxruntime-web that runs models by our own importer. */

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
