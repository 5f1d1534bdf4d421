/** Weights from other frameworks: safetensors, NumPy arrays, PyTorch state dictionaries. */

export type { StateDict, StateNames } from '../nn/module/module-state.ts';
export type { WeightSource } from './byte-source.ts';
export { type OpenWeightsOptions, openWeights, type WeightFormat } from './open.ts';
export { torchName } from './torch-names.ts';
export type { LoadWeightsOptions, WeightInfo, Weights } from './weights.ts';
export { saveNpy, saveNpz } from './write-npy.ts';
export { type SaveWeightsOptions, saveSafetensors } from './write-safetensors.ts';
