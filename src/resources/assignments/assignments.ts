import { AppError, validationError } from '../../errors.js';
import { bool, integer, oneOf, timestamp } from '../../jsonapi/definition/attributes.js';
import {
  type CreateOperation,
  defineResource,
  type UpdateOperation,
  type WriteResult,
} from '../../jsonapi/definition/definition.js';
import type { ToOne } from '../../jsonapi/definition/shape.js';
import { operatorWrites } from '../common.js';
import { profilePayloads } from '../profiles/profile-payloads.js';
import { profiles } from '../profiles/profiles.js';

function part(type: string, column: string): ToOne {
  return { kind: 'toOne', type, column, write: 'create' };
}

/** Who should have an item: what some include matches and no exclude. */
export const assignments = defineResource({
  type: 'assignments',
  path: '/assignments',
  table: 'assignments',
  access: operatorWrites,
  attributes: {
    all_devices: bool({ write: 'create', nullable: false }),
    mode: oneOf(['include', 'exclude'], { write: 'create', nullable: false }),
    priority: integer({ nullable: false }),
    created_at: timestamp({ write: 'never' }),
  },
  defaults: { all_devices: false, mode: 'include', priority: 0 },
  relationships: {
    profile: part('profiles', 'profile_id'),
    tag: part('tags', 'tag_id'),
    device_group: part('device_groups', 'device_group_id'),
    device: part('devices', 'device_id'),
  },
  unions: { item: ['profile'], target: ['tag', 'device_group', 'device'] },
  operations: { create: createAssignment, update: updateAssignment },
});

const TARGETS = { tag: 'tag_id', device_group: 'device_group_id', device: 'device_id' };
const ITEM = { source: { pointer: '/data/relationships/item' } };
const TARGET = { source: { pointer: '/data/relationships/target' } };

async function createAssignment(operation: CreateOperation<unknown>): Promise<WriteResult> {
  const { trx, store, shape, attributes, toOne } = operation;
  requireItemAndTarget(operation);
  const { profile } = toOne;
  await requireNoEnrollment(operation, Number(profile));
  const targets = Object.entries(TARGETS).map(([name, column]) => [column, toOne[name] ?? null]);
  const values = { ...attributes, profile_id: profile, ...Object.fromEntries(targets) };
  return { id: await store.insert(trx, { shape, values }) };
}

/** Only the priority changes, which orders what is queued from then on. */
async function updateAssignment(operation: UpdateOperation<unknown>): Promise<WriteResult> {
  const { trx, store, shape, id, attributes: values } = operation;
  if (Object.keys(values).length > 0) await store.update(trx, { shape, id, values });
  return { id };
}

function requireItemAndTarget({ attributes, toOne }: CreateOperation<unknown>): void {
  const faults = [];
  const given = Object.keys(TARGETS).filter((name) => typeof toOne[name] === 'number');
  if (typeof toOne.profile !== 'number') {
    faults.push({ detail: 'name the item: {"type": "profiles", "id": …}', ...ITEM });
  }
  if (given.length === 0 && attributes.all_devices !== true) {
    const detail = 'name a target (tags, device_groups or devices), or set all_devices to true';
    faults.push({ detail, ...TARGET });
  }
  if (given.length + (attributes.all_devices === true ? 1 : 0) > 1) {
    const detail = 'an assignment has one target: make one for each, or all_devices without any';
    faults.push({ detail, ...TARGET });
  }
  if (faults.length > 0) throw validationError(faults);
}

/** A profile that enrolls would replace the enrollment of its devices. */
async function requireNoEnrollment(
  { trx, store }: CreateOperation<unknown>,
  id: number,
): Promise<void> {
  const { payloads: relation } = profiles.relationships;
  if (relation?.kind !== 'toMany') return;
  const columns = ['payload_type'];
  const query = { shape: profilePayloads, relation, columns, ids: [id], limit: 10_000 };
  const payloads = await store.related(trx, query);
  if (payloads.every(({ row }) => row.payload_type !== 'com.apple.mdm')) return;
  const detail =
    `profile ${id} has a payload com.apple.mdm: it would replace the enrollment of its devices; ` +
    'upload it without';
  throw new AppError('validation_failed', 422, detail, ITEM);
}
