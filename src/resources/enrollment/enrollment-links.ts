import type { EnrollmentLinks } from '../../enroll/link/enrollment-links.js';
import { notFound, validationError } from '../../errors.js';
import {
  bool,
  integer,
  oneOf,
  prose,
  text,
  timestamp,
} from '../../jsonapi/definition/attributes.js';
import {
  type CreateOperation,
  type DeriveSource,
  defineResource,
  type UpdateOperation,
  type WriteResult,
} from '../../jsonapi/definition/definition.js';
import { columnsOf } from '../../jsonapi/operations/changes.js';
import type { Row } from '../../jsonapi/store.js';
import { assertStaticGroups } from '../devices/group-membership.js';

export interface EnrollmentLinkServices {
  enrollmentLinks: EnrollmentLinks;
}

type LinkFacts = Parameters<EnrollmentLinks['statusOf']>[0];

function requireFuture({
  expires_at,
}: CreateOperation<EnrollmentLinkServices>['attributes']): void {
  if (!(expires_at instanceof Date) || expires_at.getTime() > Date.now()) return;
  const source = { pointer: '/data/attributes/expires_at' };
  throw validationError([{ detail: 'expires_at is in the past', source }]);
}

/** Devices become members when they enroll, so the group must not have a rule. */
async function requireStaticGroup({
  trx,
  store,
  toOne,
}: CreateOperation<EnrollmentLinkServices>): Promise<void> {
  if (typeof toOne.device_group !== 'number') return;
  const at = '/data/relationships/device_group';
  await assertStaticGroups(trx, store, { ids: [toOne.device_group], at });
}

async function updateLink(
  operation: UpdateOperation<EnrollmentLinkServices>,
): Promise<WriteResult> {
  const { trx, store, shape, id } = operation;
  await requireStaticGroup(operation);
  const values = columnsOf(shape, operation);
  if (!(await store.update(trx, { shape, id, values }))) throw notFound(`enrollment_links ${id}`);
  return { id };
}

/** Inserts the row first: its token is sealed for its id. */
async function createLink(
  operation: CreateOperation<EnrollmentLinkServices>,
): Promise<WriteResult> {
  const { trx, store, shape, services } = operation;
  requireFuture(operation.attributes);
  await requireStaticGroup(operation);
  const { token, hash } = services.enrollmentLinks.newToken();
  const secrets = { token_hash: hash, sealed_token: Buffer.alloc(0) };
  const values = { ...columnsOf(shape, operation), ...secrets };
  const id = await store.insert(trx, { shape, values });
  const sealed_token = services.enrollmentLinks.sealToken(id, token);
  await store.update(trx, { shape, id, values: { sealed_token } });
  return { id };
}

function present(
  name: string,
  row: Row,
  { services: { enrollmentLinks } }: DeriveSource<EnrollmentLinkServices>,
): string {
  if (name === 'url') return enrollmentLinks.urlOf(row.id, row.sealed_token as Buffer);
  return enrollmentLinks.statusOf(row as Row & LinkFacts);
}

const COUNTED = { write: 'never', volatile: true } as const;
const STATUS_OF = ['is_disabled', 'expires_at', 'max_uses', 'uses'];

/** A link is enough to enroll devices, so viewers do not see links. */
export const enrollmentLinks = defineResource<EnrollmentLinkServices>({
  type: 'enrollment_links',
  path: '/enrollment_links',
  table: 'enrollment_links',
  access: { read: 'operator', create: 'operator', update: 'operator', delete: 'operator' },
  attributes: {
    name: text({ required: true, min: 1, max: 255 }),
    description: prose(),
    max_uses: integer({ min: 1 }),
    uses: integer(COUNTED),
    expires_at: timestamp(),
    is_disabled: bool({ nullable: false }),
    status: oneOf(['usable', 'disabled', 'expired', 'spent'], {
      write: 'never',
      nullable: false,
      derivedFrom: STATUS_OF,
    }),
    url: text({ write: 'never', nullable: false, derivedFrom: ['sealed_token'] }),
    last_used_at: timestamp(COUNTED),
    created_at: timestamp({ write: 'never' }),
  },
  relationships: {
    tags: {
      kind: 'toMany',
      type: 'tags',
      via: { table: 'enrollment_link_tags', own: 'enrollment_link_id', other: 'tag_id' },
      write: 'document',
    },
    device_group: {
      kind: 'toOne',
      type: 'device_groups',
      column: 'device_group_id',
      write: 'always',
    },
    devices: {
      kind: 'toMany',
      type: 'devices',
      via: { foreignKey: 'enrollment_link_id' },
      write: 'never',
      createsBelow: false,
    },
    enrollment_requests: {
      kind: 'toMany',
      type: 'enrollment_requests',
      via: { foreignKey: 'enrollment_link_id' },
      write: 'never',
    },
  },
  operations: { create: createLink, update: updateLink },
  derive: present,
});
