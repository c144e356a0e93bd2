/*
 * The root of a container in a user namespace: the files of its image, shared with all that run from it, under a layer of its
 * own, to which it can write when it begins as root. The image's ids are those of its namespace. Both are mounts of one process's sight, and go with that.
 */
#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NO_SETUID_NO_DEVICES = 0x2 | 0x4 };

/* What is seen of the root itself is the upper folder's. */
static void make_upper(int report, const char *image, const char *layer, const struct ids *ids) {
    struct stat about;
    if (stat(image, &about)) fail(report, errno, "image", image);
    int at = open(layer, FOLDER_FLAGS);
    if (at < 0) fail(report, errno, "layer", layer);
    for (int i = 0; i < 2; i++) {
        const char *name = i == 0 ? "upper" : "work";
        if (mkdirat(at, name, 0700) && errno != EEXIST) fail(report, errno, "layer", name);
    }
    int upper = openat(at, "upper", FOLDER_FLAGS);
    uid_t uid = about.st_uid < ids->count ? about.st_uid : 0;
    gid_t gid = about.st_gid < ids->count ? about.st_gid : 0;
    if (upper < 0 || fchown(upper, ids->first + uid, ids->first + gid) || fchmod(upper, about.st_mode & 07777))
        fail(report, errno, "layer", "upper");
    close(upper);
    close(at);
}

struct rootfs open_rootfs(int report, const char *image, const char *layer, int userns, const struct ids *ids) {
    make_upper(report, image, layer, ids);
    return (struct rootfs){.image = tree_for_ids(report, image, userns), .layer = tree_of(report, layer)};
}

/* Relative names: no letter of the way to them can be one that separates options. */
void lay_rootfs(int report, const struct rootfs *root, const char *folder, const char *at) {
    static const char *const OPTIONS[] = {"lowerdir", ".image", "upperdir", ".layer/upper", "workdir", ".layer/work", NULL};
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/.image", folder);
    put_mount(report, root->image, make_way(report, path), path);
    snprintf(path, sizeof path, "%s/.layer", folder);
    put_mount(report, root->layer, make_way(report, path), path);
    if (chdir(folder)) fail(report, errno, "folder", folder);
    int overlay = make_mount(report, "overlay", OPTIONS, NO_SETUID_NO_DEVICES);
    if (chdir("/")) fail(report, errno, "folder", "/");
    put_mount(report, overlay, make_way(report, at), at);
}
