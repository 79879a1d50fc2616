import { z } from 'zod';
import {
  type AssignmentChange,
  type AssignmentPreview,
  exists,
  previewChange,
  profileOfAssignment,
} from '../../db/assignments/preview.js';
import type { Transaction } from '../../db/connection/unit-of-work.js';
import { type AppError, notFound, validationError } from '../../errors.js';
import type { ApiContext } from '../../jsonapi/handler.js';
import { action } from '../action.js';
import type { ApiRoute } from '../api-route.js';
import { bodyId } from '../request-parts.js';

export interface AssignmentPreviewDeps {
  api: ApiContext;
}

const count = z.int().min(0);
const ids = z.array(z.int());

const PREVIEW = {
  type: 'assignment_previews',
  onlyId: 1,
  attributes: z.strictObject({
    gain: count.describe('Devices that it would be assigned to, also those of `unable`.'),
    lose: count.describe('Devices from which it would be removed.'),
    unable: z
      .array(z.strictObject({ reason_code: z.string(), count }))
      .describe('Of those that gain it: why they can not have it now.'),
    examples: z
      .strictObject({ gain: ids, lose: ids })
      .describe('The ids of the first ten devices of each.'),
  }),
};

const TARGETS = { tags: 'tag_id', device_groups: 'device_group_id', devices: 'device_id' } as const;

const BODY = z.strictObject({
  assignment: bodyId
    .optional()
    .describe('The id of an assignment to be deleted; nothing else then.'),
  item: z
    .strictObject({ type: z.literal('profiles'), id: bodyId })
    .optional()
    .describe('Of an assignment to be created.'),
  target: z
    .strictObject({ type: z.enum(['tags', 'device_groups', 'devices']), id: bodyId })
    .nullable()
    .optional(),
  all_devices: z.boolean().optional(),
  mode: z.enum(['include', 'exclude']).optional(),
  priority: z
    .int()
    .optional()
    .describe('As in the document of an assignment; without effect here.'),
});

/** Shows who would gain or lose an item, before an assignment is created or deleted. */
export function assignmentPreviewRoutes({ api }: AssignmentPreviewDeps): ApiRoute[] {
  const preview = action(api, {
    method: 'POST',
    path: '/assignments/preview',
    operationId: 'previewAssignment',
    tag: 'assignments',
    role: 'viewer',
    summary: 'See who would gain or lose an item',
    description:
      'Of an assignment to be created (`item` with `target` or `all_devices`, and `mode`), or of one ' +
      'to be deleted (`assignment`). Counts all devices; nothing is changed. The document that creates the ' +
      'assignment is a draft, too.',
    body: {
      attributes: BODY,
      relationships: ['item', 'target'],
      isRequired: true,
      example: { item: { type: 'profiles', id: 7 }, target: { type: 'tags', id: 3 } },
    },
    answer: { status: 200, description: 'The preview.', shows: PREVIEW },
    audit: { action: null, targetType: 'assignments' },
    run: async (trx, { body }) => {
      const change = await readChange(trx, body);
      return { attributes: shown(await previewChange(trx, change)) };
    },
  });
  return [preview];
}

type Body = z.infer<typeof BODY>;

async function readChange(trx: Transaction, body: Body): Promise<AssignmentChange> {
  const { assignment, item, target, all_devices = false, mode = 'include' } = body;
  if (assignment !== undefined) {
    if (Object.keys(body).length > 1) {
      throw fault('assignment stands alone: leave out the others, or name item and target', '');
    }
    const profileId = await profileOfAssignment(trx, assignment);
    if (profileId === undefined) throw notFound(`assignments ${assignment}`);
    return { profileId, removed: assignment };
  }
  if (item === undefined)
    throw fault(
      'name the item ({"type": "profiles", "id": …}) and a target, or an assignment to be deleted',
      '/item',
    );
  if ((target !== undefined && target !== null) === all_devices) {
    throw fault('name a target, or set all_devices to true: one of the two', '/target');
  }
  if (!(await exists(trx, 'profiles', item.id))) throw notFound(`profiles ${item.id}`);
  if (!target) return { profileId: item.id, draft: { all_devices, mode } };
  if (!(await exists(trx, target.type, target.id))) throw notFound(`${target.type} ${target.id}`);
  const draft = { [TARGETS[target.type]]: target.id, all_devices, mode };
  return { profileId: item.id, draft };
}

function fault(detail: string, pointer: string): AppError {
  return validationError([{ detail, source: { pointer } }]);
}

function shown({ gain, lose, gaining, losing, ...reasons }: AssignmentPreview) {
  const codes = [
    ['device_not_enrolled', reasons.not_enrolled],
    ['serial_not_proved', reasons.serial_not_proved],
    ['unmanaged_profile', reasons.unmanaged_profile],
    ['wrong_platform', reasons.wrong_platform],
    ['os_too_old', reasons.os_too_old],
    ['not_supervised', reasons.not_supervised],
    ['not_user_approved', reasons.not_user_approved],
  ] as const;
  const unable = codes
    .filter(([, some]) => some > 0)
    .map(([reason_code, some]) => ({ reason_code, count: some }));
  return { gain, lose, unable, examples: { gain: gaining, lose: losing } };
}
