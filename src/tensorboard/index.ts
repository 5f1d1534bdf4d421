/** Event files for TensorBoard. */

export { SummaryWriter } from './summary-writer.ts';
