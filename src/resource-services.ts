import { createCommandServices } from './commands/command-services.js';
import type { CommandQueue } from './commands/queue.js';
import type { SecretBox } from './crypto/secret-box.js';
import type { ResourceServices } from './resources/services.js';

export interface ResourceServiceDeps {
  box: SecretBox;
  queue: CommandQueue;
  /** What devices are told; without a slash at its end. */
  publicUrl: string;
}

/** What the resources need of the rest, put together: for the container and for tests. */
export function createResourceServices(deps: ResourceServiceDeps): ResourceServices {
  const { box, queue } = deps;
  return { ...createCommandServices(box, queue) };
}
