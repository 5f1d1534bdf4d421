/** Models of ONNX as modules. */

export { type ModelInput, OnnxModule } from '../../runtime/onnx/model.ts';
export { importOnnx } from './import.ts';
