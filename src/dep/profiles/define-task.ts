import { z } from 'zod';
import type { Task } from '../../jobs/task.js';
import { DEFINE_PROFILE } from '../dep-jobs.js';
import type { ProfileDefinitions } from './profile-definitions.js';

const PAYLOAD = z.object({ profileId: z.int() });

/** Tells Apple what a profile says. */
export function createDefineTask(
  definitions: Pick<ProfileDefinitions, 'define'>,
): Task<z.infer<typeof PAYLOAD>> {
  return {
    name: DEFINE_PROFILE,
    parse: (payload) => PAYLOAD.parse(payload),
    run: ({ profileId }, { signal }) => definitions.define(profileId, signal),
  };
}
