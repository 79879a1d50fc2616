import type { Requirements } from '../../assignments/requirements.js';
import { AppError, notFound, validationError } from '../../errors.js';
import { bool, integer, oneOf, timestamp } from '../../jsonapi/definition/attributes.js';
import {
  type CreateOperation,
  defineResource,
  type RelateOperation,
  type UpdateOperation,
  type WriteResult,
} from '../../jsonapi/definition/definition.js';
import type { ResourceShape, ToManyShape, ToOne } from '../../jsonapi/definition/shape.js';
import { operatorWrites, type Service } from '../common.js';
import { profilePayloads } from '../profiles/profile-payloads.js';
import { profiles } from '../profiles/profiles.js';

export interface AssignmentServices {
  requirements: Service<Pick<Requirements, 'begin' | 'check'>>;
}

function part(type: string, column: string): ToOne {
  return { kind: 'toOne', type, column, write: 'create' };
}

const REQUIREMENTS: ToManyShape = {
  kind: 'toMany',
  type: 'profiles',
  via: { table: 'assignment_requirements', own: 'assignment_id', other: 'profile_id' },
};
const SHAPE: ResourceShape = {
  type: 'assignments',
  table: 'assignments',
  attributes: {},
  relationships: {},
};

/** Who should have an item: what some include matches and no exclude. */
export const assignments = defineResource<AssignmentServices>({
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
    requires: {
      ...REQUIREMENTS,
      write: 'document',
      operations: { add: requireItems, remove: waiveItems },
    },
  },
  unions: { item: ['profile'], target: ['tag', 'device_group', 'device'] },
  operations: { create: createAssignment, update: updateAssignment },
});

const TARGETS = { tag: 'tag_id', device_group: 'device_group_id', device: 'device_id' };
const ITEM = { source: { pointer: '/data/relationships/item' } };
const TARGET = { source: { pointer: '/data/relationships/target' } };

async function createAssignment(
  operation: CreateOperation<AssignmentServices>,
): Promise<WriteResult> {
  const { trx, store, shape, attributes, toOne } = operation;
  requireItemAndTarget(operation);
  const { profile } = toOne;
  await requireNoEnrollment(operation, Number(profile));
  const targets = Object.entries(TARGETS).map(([name, column]) => [column, toOne[name] ?? null]);
  const values = { ...attributes, profile_id: profile, ...Object.fromEntries(targets) };
  try {
    return { id: await store.insert(trx, { shape, values }) };
  } catch (error) {
    if (error instanceof AppError && error.code === 'already_exists') {
      throw duplicate(Number(profile), error);
    }
    throw error;
  }
}

function duplicate(profile: number, cause: AppError): AppError {
  const detail =
    `profile ${profile} is assigned to this target with this mode already: GET ` +
    `/api/v1/assignments?filter[profile]=${profile} shows it. Its priority and what it requires can be changed`;
  return new AppError('already_exists', 409, detail, { ...TARGET, cause });
}

/**
 * Only the priority changes, which orders what is queued from then on. A mode that is sent to be changed
 * would otherwise seem to be.
 */
async function updateAssignment(
  operation: UpdateOperation<AssignmentServices>,
): Promise<WriteResult> {
  const { trx, store, shape, id, attributes: values, unwritable = {} } = operation;
  const row = await store.find(trx, { shape, id, columns: ['mode', 'all_devices'], lock: true });
  if (row === undefined) throw notFound(`assignments ${id}`);
  const faults = Object.keys(row)
    .filter((name) => unwritable[name] !== undefined && unwritable[name] !== row[name])
    .map((name) => ({
      detail: `${name} never changes: delete the assignment and create another one`,
      source: { pointer: `/data/attributes/${name}` },
    }));
  if (faults.length > 0) throw validationError(faults);
  if (Object.keys(values).length > 0) await store.update(trx, { shape, id, values });
  return { id };
}

/** Items that have to be verified on a device before the assignment's own is installed there. */
async function requireItems(operation: RelateOperation<AssignmentServices>): Promise<void> {
  const { trx, store, services, id, relatedIds, at } = operation;
  const row = await store.find(trx, { shape: SHAPE, id, columns: ['mode'] });
  if (row?.mode === 'exclude') {
    const detail = 'an assignment that excludes installs nothing, so it has nothing to wait for';
    throw validationError([{ detail, source: { pointer: at } }]);
  }
  await services.requirements.begin(trx);
  await store.link(trx, { relation: REQUIREMENTS, shape: SHAPE, id, relatedIds });
  await services.requirements.check(trx, { assignmentId: id, profileIds: relatedIds, at });
}

async function waiveItems(operation: RelateOperation<AssignmentServices>): Promise<void> {
  const { trx, store, id, relatedIds } = operation;
  await store.unlink(trx, { relation: REQUIREMENTS, shape: SHAPE, id, relatedIds });
}

function requireItemAndTarget({ attributes, toOne }: CreateOperation<AssignmentServices>): void {
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
  { trx, store }: CreateOperation<AssignmentServices>,
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
