import { useQueryClient } from '@tanstack/react-query';
import { call, client } from '../../api/client';
import { useMutation } from '../../api/mutation';

/** Deletes the record of the device. */
export function useDelete(id: number) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: () => call(() => client.DELETE('/devices/{id}', { params: { path: { id } } })),
    onSuccess: async () => {
      // What the page asks at this moment would only fail: the page is left.
      await queries.cancelQueries({ queryKey: ['device', id] });
      void queries.invalidateQueries({ queryKey: ['devices'] });
    },
  });
}
