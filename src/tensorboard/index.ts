/** Event files for TensorBoard. */

import '../../runtime/setup.ts';

export { SummaryWriter } from './summary-writer.ts';
