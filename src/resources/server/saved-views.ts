import { text, timestamp } from '../../jsonapi/definition/attributes.js';
import {
  type CreateOperation,
  defineResource,
  type WriteResult,
} from '../../jsonapi/definition/definition.js';
import { operatorWrites } from '../common.js';

/** Below the server's own address: no other host, and nothing that a browser would run. */
const PATH = /^\/(?![/\\])[\u0021-\u007e]*$/;

async function createView({
  trx,
  store,
  shape,
  context,
  attributes,
}: CreateOperation<unknown>): Promise<WriteResult> {
  const values = { ...attributes, created_by: context.actor.name };
  return { id: await store.insert(trx, { shape, values }) };
}

/** Pages of the console that are found again by a name. */
export const savedViews = defineResource({
  type: 'saved_views',
  path: '/saved_views',
  table: 'saved_views',
  access: operatorWrites,
  attributes: {
    name: text({ required: true, min: 1, max: 255 }),
    path: text({
      required: true,
      max: 4_000,
      pattern: PATH,
      like: 'a path of the console with its query, such as /devices?q=mini',
    }),
    created_by: text({ write: 'never' }),
    created_at: timestamp({ write: 'never' }),
  },
  relationships: {},
  operations: { create: createView },
});
