/* What the sanitizers must find, so that their silence about other programs means something. */

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    volatile int last = argc + 6; /* 8 when an argument is given, one more than there are */
    if (argc == 2 && argv[1][0] == 'a') {
        char *bytes = calloc(8, 1);
        if (bytes != NULL) {
            printf("%d\n", bytes[last]);
        }
        free(bytes);
    } else {
        last += INT_MAX;
        printf("%d\n", last);
    }
    return 0;
}
