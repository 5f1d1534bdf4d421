import { stack, toStatic, type Tensor, tensor } from './src/index.ts';
const all = ['freeAtLastUse','reuse','order','chooseSaved','slices','arena','donate','skipSet','unusedInputs','inputCopies','stridedInputs','unusedOutputs','noNeedBuffer'];
for (const name of [...all, 'all']) for (const retain of [true,false]) {
const memory = name === 'all' ? Object.fromEntries(all.map(n => [n, n === 'stridedInputs'])) : { [name]: false };
const f = toStatic((x: Tensor) => {
  const out: Tensor[] = [];
  let y = x;
  while (y.sum().itemSync() < 10) { y = y.mul(2); out.push(y); }
  return stack(out).sum();
}, { fullGraph: true, check: 0, memory: memory as never });
const x = tensor([1, 2]).requiresGrad_();
try {
const l = f(x);
l.backward(undefined, { retainGraph: retain });
if (retain) l.backward();
} catch (e) { console.log(name, retain, String(e).split('\n')[0]); }
}
