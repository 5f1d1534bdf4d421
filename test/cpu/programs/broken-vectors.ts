/** `init` on an engine whose 256-bit vectors leave out a kernel's work: every second instance of a module. */

import { init, matmul, ones } from '../../../src/index.ts';

const { Instance } = WebAssembly;
let made = 0;
WebAssembly.Instance = new Proxy(Instance, {
  construct(target, args: ConstructorParameters<typeof Instance>) {
    const { exports } = new target(...args);
    if (!('product' in exports) || made++ % 2 === 0) return { exports };
    return { exports: { ...exports, product: () => 0 } };
  },
});
const said = await init('cpu', { revectorize: true }).then(
  () => 'nothing',
  (error: Error) => error.message,
);
const product = matmul(ones([3, 40]), ones([40, 20]))
  .sum()
  .itemSync();
console.log(JSON.stringify({ said, product }));
