import { registerDevice } from '../current.ts';
import { StoreDevice } from './store-device.ts';

let store: StoreDevice | undefined;

/** Stores values of a GPU in JavaScript memory. */
export function hostStore(): StoreDevice {
  if (!store) {
    store = new StoreDevice('host', { put: (data) => ({ read: () => data, drop: () => {} }) });
    registerDevice(store);
  }
  return store;
}
