// Works of jax-js on WebGPU.
import { blockUntilReady, defaultDevice, init } from '@jax-js/jax';

await init('webgpu');
defaultDevice('webgpu');

export const finish = (results) => blockUntilReady(results);

export { works } from './jax-works.mjs';
