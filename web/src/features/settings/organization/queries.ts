import { useQueryClient } from '@tanstack/react-query';
import type { Schemas } from '../../../api/client';
import { call, client } from '../../../api/client';
import { useMutation } from '../../../api/mutation';
import { organizationQuery } from '../../../api/server';

export type OrganizationChange = Schemas['organizations_write_attributes'];

export function useSaveOrganization() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async (body: OrganizationChange) =>
      (await call(() => client.PATCH('/configuration/organization', { body }))).data?.attributes ??
      {},
    onSuccess: (saved) => queries.setQueryData(organizationQuery.queryKey, saved),
  });
}
